//! Updates and traces.

use crate::client::try_send;
use crate::runner::{append, finish, payload, request, server_with_running_job, token, update};
use gitlab_testkit::{Endpoint, JobServer, Watch};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn trace_grows_piece_by_piece() {
    let server = server_with_running_job();
    let said = append(&server, 1, 0, "hello ");
    assert_eq!((said.status, said.header("range")), (202, "0-6"));
    assert_eq!(said.header("job-status"), "running");
    assert_eq!(said.header("x-gitlab-trace-update-interval"), "3");
    // Sent again, because the answer was lost.
    assert_eq!(append(&server, 1, 0, "hello ").status, 202);
    let said = append(&server, 1, 10, "world");
    assert_eq!((said.status, said.header("range")), (416, "0-6"));
    assert_eq!(append(&server, 1, 6, "world").header("range"), "0-11");
    assert_eq!(server.trace(1), b"hello world");
    assert_eq!(finish(&server, 1, "success", "hello world").status, 200);
    assert_eq!(server.final_update(1).unwrap()["state"], "success");
    let found = server.violations();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        found[0],
        "job 1: a piece begins at 0, but 6 bytes are stored"
    );
    let checks: Vec<bool> = server
        .calls()
        .iter()
        .filter_map(|call| call.range_check)
        .map(|check| check.first_is_stored_size)
        .collect();
    assert_eq!(checks, [true, false, false, true]);
}

#[test]
fn invalid_trace_calls_are_refused() {
    let server = server_with_running_job();
    let send = |job: u64, headers: &[(&str, &str)]| {
        let path = format!("/api/v4/jobs/{job}/trace");
        let said = try_send(server.address(), "PATCH", &path, headers, b"text");
        said.expect("the server answers")
    };
    let token = token(1);
    let said = send(1, &[("job-token", &token)]);
    assert_eq!(
        (said.status, said.body.as_str()),
        (400, "400 Missing header Content-Range")
    );
    let range = ("content-range", "0-3");
    assert_eq!(send(1, &[("job-token", "wrong"), range]).status, 403);
    assert_eq!(send(1, &[range]).status, 403);
    let said = send(2, &[("job-token", &token), range]);
    assert_eq!(
        (said.status, said.header("content-type")),
        (404, "application/json")
    );
    assert_eq!(server.trace(1), b"");
    // A runner before version 17 sends its tokens like this.
    assert_eq!(send(1, &[("private-token", &token), range]).status, 202);
}

#[test]
fn job_that_was_not_handed_out_is_refused() {
    let server = JobServer::start();
    server.queue(payload(1));
    assert_eq!(update(&server, 1, &json!({"state": "running"})).status, 403);
    assert_eq!(update(&server, 9, &json!({"state": "running"})).status, 404);
    assert_eq!(request(&server).status, 201);
    assert_eq!(update(&server, 1, &json!({"state": "pending"})).status, 200);
    assert!(!server.with_state(|state| state.is_acknowledged(1)));
    assert_eq!(update(&server, 1, &json!({"state": "odd"})).status, 400);
}

#[test]
fn wrong_checksum_is_a_violation() {
    let server = server_with_running_job();
    append(&server, 1, 0, "hello");
    assert_eq!(finish(&server, 1, "success", "hullo").status, 200);
    let found = server.violations();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("checksum \"crc32:"), "{found:?}");
    let calls = server.calls();
    let check = calls.last().unwrap().trace_check.unwrap();
    assert!(check.bytesize_equals_stored && !check.checksum_equals_crc32_of_stored);
}

#[test]
fn call_after_the_final_update_is_a_violation() {
    let server = server_with_running_job();
    assert_eq!(finish(&server, 1, "failed", "").status, 200);
    let said = append(&server, 1, 0, "late");
    assert_eq!((said.status, said.header("job-status")), (403, "failed"));
    assert_eq!(finish(&server, 1, "success", "").status, 403);
    assert_eq!(server.final_update(1).unwrap()["state"], "failed");
    let found = server.violations();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("after the accepted final update"),
        "{found:?}"
    );
    assert!(found[1].contains("several final states"), "{found:?}");
}

#[test]
fn watch_sets_the_status_and_calls_a_function() {
    let server = server_with_running_job();
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    server.watch(Watch::set_status("line 3", "canceling"));
    server.watch(Watch::from_json(
        &json!({"trace_contains": "line 3", "wait": 0.05, "signal": "SIGTERM"}),
        move |signal| {
            assert_eq!(signal, "SIGTERM");
            count.fetch_add(1, Ordering::Relaxed);
        },
    ));
    assert_eq!(
        append(&server, 1, 0, "line 1\nlin").header("job-status"),
        "running"
    );
    append(&server, 1, 10, "e 3\n");
    let status = || {
        update(&server, 1, &json!({"state": "running"}))
            .header("job-status")
            .to_owned()
    };
    while status() != "canceling" {}
    while called.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    append(&server, 1, 14, "line 3\n");
    server.set_job_status(1, "failed");
    assert_eq!(status(), "failed");
    // The runner has to report an aborted job all the same.
    assert_eq!(
        finish(&server, 1, "failed", "more than what is stored").status,
        200
    );
    assert_eq!(server.violations(), Vec::<String>::new());
    assert_eq!(called.load(Ordering::Relaxed), 1);
    assert!(server.wait_until(LONG, |state| state.count(Endpoint::UpdateFinal) == 1));
}
