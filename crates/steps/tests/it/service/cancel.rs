//! Cancel, abort, and stops by the service.

use std::time::{Duration, Instant};

use steps::wire::v1;
use steps::wire::v1::cancel_request::Level;
use steps::wire::v1::result::{ErrorKind, State};
use tonic::Code;

use super::support::{Served, lives, until_there};

async fn cancel(served: &mut Served, id: &str, level: Level) {
    let message = v1::CancelRequest {
        id: id.to_owned(),
        level: level.into(),
    };
    served.client.cancel(message).await.unwrap();
}

/// Starts a script that signals readiness by a file.
async fn start(served: &mut Served, id: &str, script: &str) {
    let ready = served.path(&format!("ready-{id}"));
    let script = format!("touch '{}'\n{script}", ready.display());
    served
        .client
        .run(served.request(id, &script))
        .await
        .unwrap();
    until_there(&ready).await;
}

#[tokio::test]
async fn cancelled_script_can_clean_up() {
    let mut served = Served::start().await;
    let ready = served.path("ready");
    let script = format!(
        "trap 'echo tidied; exit 7' TERM; touch '{}'; sleep 600 & wait",
        ready.display()
    );
    served
        .client
        .run(served.request("1", &script))
        .await
        .unwrap();
    until_there(&ready).await;
    cancel(&mut served, "1", Level::Cancel).await;
    let status = served.until("1", |status| status.finished).await;
    let result = status.result.unwrap();
    assert_eq!(
        (result.state(), result.error_kind()),
        (State::Cancelled, ErrorKind::Cancelled)
    );
    assert_eq!((status.exit_code, result.killed), (7, false));
    let log = served.log("1").await;
    // The shell may report the end of its child, before or after that.
    assert!(log.lines().any(|line| line == "tidied"), "{log}");
    served.stop().await;
}

#[tokio::test]
async fn stubborn_process_is_killed_after_its_grace() {
    let mut served = Served::start().await;
    let ready = served.path("ready");
    let script = format!(
        "trap '' TERM; touch '{}'; while true; do sleep 1; done",
        ready.display()
    );
    let mut request = served.request("1", &script);
    request.timing = Some(v1::Timing {
        terminate_grace_ms: 200,
        ..v1::Timing::default()
    });
    served.client.run(request).await.unwrap();
    until_there(&ready).await;
    cancel(&mut served, "1", Level::Cancel).await;
    let result = served
        .until("1", |status| status.finished)
        .await
        .result
        .unwrap();
    assert_eq!((result.killed, result.signal), (true, 9));
    served.stop().await;
}

#[tokio::test]
async fn abort_kills_at_once_and_skips_later_steps() {
    let mut served = Served::start().await;
    let ready = served.path("ready");
    let script = format!("trap '' TERM; touch '{}'; sleep 600", ready.display());
    let mut request = served.request("1", &script);
    request.timing = Some(super::support::long_grace());
    served.client.run(request).await.unwrap();
    until_there(&ready).await;
    let begin = Instant::now();
    cancel(&mut served, "1", Level::Abort).await;
    // A second stop changes nothing.
    cancel(&mut served, "1", Level::Abort).await;
    let status = served.until("1", |status| status.finished).await;
    assert!(begin.elapsed() < super::support::PATIENCE);
    assert_eq!(status.result.unwrap().state(), State::Cancelled);
    served.stop().await;
}

#[tokio::test]
async fn ended_request_is_not_cancelled() {
    let mut served = Served::start().await;
    let (_, before) = served.run(served.request("1", "exit 5")).await;
    cancel(&mut served, "1", Level::Cancel).await;
    assert_eq!(served.status("1").await, before);
    served.stop().await;
}

#[tokio::test]
async fn unfinished_requests_are_pruned() {
    // R-STEP-21
    // R-STEP-22
    let mut served = Served::with(|options| {
        options.keep_finished = Duration::from_millis(100);
        options.scan_every = Duration::from_millis(20);
    })
    .await;
    served
        .client
        .run(served.request("1", "exit 0"))
        .await
        .unwrap();
    let begin = Instant::now();
    while served.service.requests() > 0 {
        assert!(begin.elapsed() < super::support::PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let status = served
        .client
        .status(v1::StatusRequest { id: "1".to_owned() })
        .await;
    assert_eq!(status.unwrap_err().code(), Code::NotFound);
    assert_eq!(
        std::fs::read_dir(served.path("state/requests"))
            .unwrap()
            .count(),
        0
    );
    served.stop().await;
}

#[tokio::test]
async fn runaway_request_is_stopped() {
    // R-STEP-23
    let check = async |longest_run: u64, longest_silence: Option<u64>| {
        let mut served = Served::with(|options| {
            options.longest_run = Duration::from_millis(longest_run);
            options.longest_silence = longest_silence.map(Duration::from_millis);
            options.scan_every = Duration::from_millis(20);
        })
        .await;
        served
            .client
            .run(served.request("1", "sleep 600"))
            .await
            .unwrap();
        let result = served
            .until("1", |status| status.finished)
            .await
            .result
            .unwrap();
        assert_eq!(
            (result.state(), result.error_kind()),
            (State::Cancelled, ErrorKind::Timeout)
        );
        served.stop().await;
    };
    check(100, None).await;
    check(600_000, Some(100)).await;
}

#[tokio::test]
async fn shutdown_leaves_nothing() {
    let mut served = Served::start().await;
    start(
        &mut served,
        "1",
        "echo $$ > pid.new; mv pid.new pid; trap '' TERM; sleep 600",
    )
    .await;
    let pid_file = served.path("work/pid");
    until_there(&pid_file).await;
    let pid = std::fs::read_to_string(pid_file).unwrap();
    assert!(lives(&pid, "/script"));
    let folder = served.stop().await;
    assert!(!lives(&pid, "/script"));
    assert!(!folder.path().join("state/requests").exists());
}
