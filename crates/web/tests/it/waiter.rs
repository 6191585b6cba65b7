use crate::{get, hello, naming, open};
use std::time::{Duration, Instant};
use web::Waiter;

#[test]
fn each_waiter_keeps_its_connections() {
    let server = hello();
    let web = open(naming(&[&server.url("")]));
    let waiters = [Waiter::new(), Waiter::new()];
    let ask_both = || {
        for waiter in &waiters {
            let answer = waiter.wait(get(&web, &server.url("/"))).expect("a thread");
            assert_eq!(answer.expect("an answer").body, b"hello");
        }
        server.connections()
    };
    let began = Instant::now();
    let mut opened = ask_both();
    assert_eq!((opened, server.seen().len()), (2, 2));
    // A connection returns to the pool a moment after its response, so the first rounds may open another one.
    loop {
        let before = std::mem::replace(&mut opened, ask_both());
        if opened == before {
            break;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "{opened}");
    }
}

#[test]
fn dropped_waiter_leaves_no_stale_connection() {
    let server = hello();
    let web = open(naming(&[&server.url("")]));
    for _ in 0..3 {
        let answer = Waiter::new()
            .wait(get(&web, &server.url("/")))
            .expect("a thread");
        assert_eq!(answer.expect("an answer").body, b"hello");
    }
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn single_threaded_runtime_can_wait() {
    let server = hello();
    let web = open(naming(&[&server.url("")]));
    assert_eq!(
        get(&web, &server.url("/")).await.expect("an answer").status,
        200
    );
    // This runtime's connection makes no progress while its only thread waits.
    let waiter = Waiter::new();
    let answer = waiter.wait(get(&web, &server.url("/"))).expect("a thread");
    assert_eq!(answer.expect("an answer").status, 200);
    assert_eq!(server.connections(), 2);
}
