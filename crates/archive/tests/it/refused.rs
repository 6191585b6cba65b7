use crate::scratch::{Scratch, tree};
use std::fs;

/// Checks that unpacking these bytes fails with this message and writes nothing outside.
#[track_caller]
pub(crate) fn check(bytes: &[u8], expect: &str) -> Scratch {
    let scratch = Scratch::new();
    let error = scratch
        .unpack_bytes(bytes)
        .map_err(|error| error.to_string());
    let error = error.expect_err("it is refused");
    assert!(error.contains(expect), "{error}");
    assert!(error.len() < 300, "{error}");
    assert_eq!(scratch.outside(), Vec::<std::path::PathBuf>::new());
    scratch
}

/// Checks in addition that nothing at all is written.
#[track_caller]
pub(crate) fn check_untouched(bytes: &[u8], expect: &str) {
    let scratch = check(bytes, expect);
    assert!(tree(&scratch.target()).is_empty());
    fs::remove_dir(scratch.target()).unwrap();
}
