//! Rules: answers that differ from the usual ones.

use crate::runner::{
    append, finish, payload, request, request_with, server_with_running_job, try_append,
    try_update, update,
};
use gitlab_testkit::{DropMoment, Endpoint, JobServer, Rule};
use serde_json::json;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn rule_answers_the_calls_it_names() {
    let server = server_with_running_job();
    server.rule(Rule::from_json(&json!({
        "on": "trace", "nth": [2, 3], "status": 500, "body": {"message": "500"}, "headers": {"Retry-After": "4"},
    })));
    let statuses: Vec<u16> = (0..4)
        .map(|at| append(&server, 1, at, "x").status)
        .collect();
    assert_eq!(statuses, [202, 500, 500, 416]);
    let calls = server.calls();
    let answer = calls[3].answer.clone().unwrap();
    assert_eq!(answer.json(), json!({"message": "500"}));
    assert_eq!(answer.header("retry-after"), Some("4"));
    assert_eq!(answer.header("job-status"), Some("running"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(server.trace(1), b"x");
    server.clear_rules();
    server.rule(Rule::on(Endpoint::Trace).job(2).status(500));
    assert_eq!(append(&server, 1, 1, "y").status, 202);
}

#[test]
fn connection_is_cut_before_or_after_the_call() {
    let server = server_with_running_job();
    server.rule(Rule::on(Endpoint::Trace).once().cut(DropMoment::Before));
    server.rule(Rule::on(Endpoint::Trace).nth(2..=2).cut(DropMoment::After));
    assert!(try_append(&server, 1, 0, "abc").is_none());
    assert_eq!(server.trace(1), b"");
    assert!(try_append(&server, 1, 0, "abc").is_none());
    assert_eq!(server.trace(1), b"abc");
    assert_eq!(server.calls().last().unwrap().status(), Some(0));
    assert_eq!(append(&server, 1, 0, "abc").status, 202);
    assert_eq!(finish(&server, 1, "success", "abc").status, 200);
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn answer_is_delayed() {
    let server = JobServer::start();
    server.rule(
        Rule::on(Endpoint::Request)
            .once()
            .delay(Duration::from_millis(80)),
    );
    let began = Instant::now();
    assert_eq!(request(&server).status, 204);
    assert!(began.elapsed() >= Duration::from_millis(80));
}

#[test]
fn trace_is_emptied_for_a_new_start() {
    let server = server_with_running_job();
    append(&server, 1, 0, "abc");
    server.rule(
        Rule::on(Endpoint::UpdateFinal)
            .once()
            .status(412)
            .empty_trace(),
    );
    assert_eq!(finish(&server, 1, "success", "abc").status, 412);
    assert_eq!(server.trace(1), b"");
    assert_eq!(append(&server, 1, 0, "abc").status, 202);
    server.rule(Rule::on(Endpoint::UpdateFinal).job_status("canceling"));
    let said = finish(&server, 1, "success", "abc");
    assert_eq!((said.status, said.header("job-status")), (200, "canceling"));
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn broken_answers_are_sent() {
    let server = JobServer::start();
    for id in 1..=4 {
        server.queue(payload(id));
    }
    server.rule(Rule::on(Endpoint::Request).nth(1..=1).wrong_media_type());
    server.rule(Rule::on(Endpoint::Request).nth(2..=2).bad_json());
    server.rule(Rule::on(Endpoint::Request).nth(3..=3).cut_body());
    let said = request(&server);
    assert_eq!(
        (said.status, said.header("content-type")),
        (201, "text/html")
    );
    let said = request(&server);
    assert_eq!((said.status, said.body.as_str()), (201, "{\"id\": "));
    assert!(request_with(&server, &json!({"token": "glrt-runner"})).is_none());
    assert_eq!(request(&server).json()["id"], 4);
}

#[test]
fn hanging_call_ends_with_the_server() {
    let server = server_with_running_job();
    server.rule(Rule::on(Endpoint::UpdateRunning).hang());
    thread::scope(|scope| {
        let address = server.address();
        let hanging = scope.spawn(move || {
            crate::client::try_send(
                address,
                "PUT",
                "/api/v4/jobs/1",
                &[("job-token", "token-1")],
                b"{\"state\": \"running\"}",
            )
        });
        let arrived = server.wait_until(Duration::from_secs(30), |state| {
            state.count(Endpoint::UpdateRunning) == 2
        });
        assert!(arrived);
        drop(server);
        assert!(hanging.join().unwrap().is_none());
    });
}

#[test]
fn lost_final_answer_is_no_violation() {
    let server = server_with_running_job();
    server.rule(
        Rule::on(Endpoint::UpdateFinal)
            .once()
            .cut(DropMoment::After),
    );
    let body = json!({"state": "success", "output": {"checksum": "crc32:00000000", "bytesize": 0}});
    assert!(try_update(&server, 1, &body).is_none());
    let said = update(&server, 1, &body);
    assert_eq!((said.status, said.header("job-status")), (403, "success"));
    assert_eq!(server.violations(), Vec::<String>::new());
}
