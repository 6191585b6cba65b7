//! Handing out jobs, and calls about runners.

use crate::client::{Said, try_send};
use crate::runner::{
    TOKEN, append, finish, payload, request, request_with, server_with_running_job, try_append,
    update,
};
use gitlab_testkit::{Endpoint, JobServer};
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(30);

fn runners(server: &JobServer, method: &str, path: &str, body: &Value) -> Said {
    let path = format!("/api/v4/runners{path}");
    let body = body.to_string();
    try_send(server.address(), method, &path, &[], body.as_bytes()).expect("the server answers")
}

#[test]
fn each_job_is_handed_out_once() {
    let server = JobServer::start();
    server.queue(payload(1));
    server.queue_for("glrt-other", payload(2));
    let said = request(&server);
    assert_eq!((said.status, said.json()["id"].clone()), (201, json!(1)));
    assert_eq!(said.header("content-type"), "application/json");
    let said = request(&server);
    assert_eq!(
        (said.status, said.header("x-gitlab-last-update")),
        (204, "1f0c4d2f")
    );
    let other = json!({"token": "glrt-other"});
    assert_eq!(request_with(&server, &other).unwrap().json()["id"], 2);
    assert_eq!(request_with(&server, &other).unwrap().status, 204);
    let calls = server.calls();
    assert_eq!(calls.len(), 4);
    assert_eq!(calls[0].endpoint, Endpoint::Request);
    assert_eq!((calls[0].job_id(), calls[2].job_id()), (Some(1), Some(2)));
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn held_request_is_released_by_a_job() {
    let server = JobServer::start();
    server.hold(LONG);
    let last_update = request(&server).header("x-gitlab-last-update").to_owned();
    let began = Instant::now();
    let body = json!({"token": TOKEN, "last_update": last_update});
    thread::scope(|scope| {
        let held = scope.spawn(|| request_with(&server, &body).unwrap());
        assert!(server.wait_until(LONG, |state| state.count(Endpoint::Request) == 2));
        server.queue_for("glrt-other", payload(2));
        assert_eq!(server.calls()[1].status(), None);
        server.queue(payload(1));
        assert_eq!(held.join().unwrap().json()["id"], 1);
    });
    assert!(began.elapsed() < LONG);
    // Its knowledge is out of date now, so it is not held.
    assert_eq!(request_with(&server, &body).unwrap().status, 204);
}

#[test]
fn held_request_ends_without_a_job() {
    let server = JobServer::start();
    server.hold(Duration::from_millis(50));
    let last_update = request(&server).header("x-gitlab-last-update").to_owned();
    let began = Instant::now();
    let body = json!({"token": TOKEN, "last_update": last_update});
    let said = request_with(&server, &body).unwrap();
    assert_eq!(
        (said.status, said.header("x-gitlab-last-update")),
        (204, last_update.as_str())
    );
    assert!(began.elapsed() >= Duration::from_millis(50));
}

#[test]
fn unacknowledged_job_is_queued_again() {
    let server = JobServer::start();
    let short = Duration::from_millis(50);
    server.requeue_unacknowledged(short);
    server.queue(payload(1));
    assert_eq!(request(&server).status, 201);
    assert!(server.wait_until(LONG, |state| state.queued() == 1));
    server.requeue_unacknowledged(LONG);
    assert_eq!(request(&server).json(), payload(1));
    assert_eq!(update(&server, 1, &json!({"state": "running"})).status, 200);
    assert!(server.with_state(|state| state.is_acknowledged(1) && state.hand_outs(1) == 2));
    server.requeue_unacknowledged(short);
    assert!(!server.wait_until(2 * short, |state| state.queued() > 0));
    assert_eq!(
        server.violations(),
        ["job 1: acknowledged, but without a final update"]
    );
}

#[test]
fn revoked_runner_is_refused() {
    let server = JobServer::start();
    server.queue_for(TOKEN, payload(1));
    assert_eq!(request_with(&server, &json!({})).unwrap().status, 403);
    let body = json!({"token": TOKEN, "system_id": "s_0123456789ab"});
    let said = runners(&server, "POST", "/verify", &body);
    let expect = json!({"id": 7, "token": TOKEN, "token_expires_at": null});
    assert_eq!((said.status, said.json()), (200, expect));
    assert_eq!(runners(&server, "DELETE", "/managers", &body).status, 204);
    server.next_runner_token("glrt-new");
    let said = runners(&server, "POST", "/reset_authentication_token", &body);
    assert_eq!(
        (said.status, said.json()["token"].clone()),
        (201, json!("glrt-new"))
    );
    assert_eq!(request(&server).status, 403);
    assert_eq!(runners(&server, "POST", "/verify", &body).status, 403);
    let new = json!({"token": "glrt-new"});
    assert_eq!(request_with(&server, &new).unwrap().json()["id"], 1);
    assert_eq!(runners(&server, "DELETE", "", &new).status, 204);
    assert_eq!(request_with(&server, &new).unwrap().status, 403);
    server.accept_runners(&["glrt-a"]);
    assert_eq!(
        runners(&server, "POST", "/verify", &json!({"token": "glrt-b"})).status,
        403
    );
    let said = runners(&server, "POST", "", &json!({"token": "GR1348941"}));
    let registered = said.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(said.status, 201);
    assert_eq!(
        runners(&server, "POST", "/verify", &json!({"token": registered})).status,
        200
    );
}

#[tokio::test]
async fn state_can_be_awaited() {
    let server = server_with_running_job();
    let acknowledged = server.wait_until_async(LONG, |state| state.is_acknowledged(1));
    assert!(acknowledged.await);
    let short = Duration::from_millis(20);
    assert!(
        !server
            .wait_until_async(short, |state| state.queued() > 0)
            .await
    );
    assert!(!server.wait_until(short, |state| state.queued() > 0));
}

#[test]
fn job_can_run_twice() {
    let server = JobServer::start();
    for trace in ["first", "second run"] {
        server.queue(payload(1));
        assert_eq!(request(&server).status, 201);
        assert_eq!(update(&server, 1, &json!({"state": "running"})).status, 200);
        assert_eq!(append(&server, 1, 0, trace).status, 202);
        assert_eq!(finish(&server, 1, "success", trace).status, 200);
    }
    assert_eq!(server.violations(), Vec::<String>::new());
    assert_eq!(server.trace(1), b"second run");
}

#[test]
fn server_keeps_its_jobs_while_it_is_stopped() {
    let server = server_with_running_job();
    append(&server, 1, 0, "abc");
    server.stop();
    assert!(try_append(&server, 1, 3, "def").is_none());
    server.resume();
    assert_eq!(append(&server, 1, 3, "def").status, 202);
    assert_eq!(server.trace(1), b"abcdef");
}
