//! Steps that nobody disturbs.

use fail_point::fail_point;
use std::io;

fn step(result: io::Result<u8>) -> io::Result<u8> {
    fail_point!("fail_point::test::undisturbed", result)
}

#[test]
fn a_point_passes_on_what_its_step_returns() {
    assert_eq!(step(Ok(7)).unwrap(), 7);
    let error = step(Err(io::ErrorKind::StorageFull.into())).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_step_may_leave_its_function() {
    fn early() -> io::Result<u8> {
        let value = fail_point!("fail_point::test::early", {
            if std::env::args().next().is_some() {
                return Ok(1);
            }
            io::Result::Ok(2)
        })?;
        Ok(value + 1)
    }
    assert_eq!(early().unwrap(), 1);
}
