//! Followers of a log, and the effect of one leaving.

use super::support::{Served, follow, plain};
use std::fs;
use std::time::Duration;
use steps::wire::v1;
use steps::wire::v1::cancel_request::Level;
use steps::wire::v1::step_result::Status;
use steps::wire::v1::step_runner_client::StepRunnerClient;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

/// Starts to follow a log.
async fn begin(client: &mut StepRunnerClient<Channel>) -> Streaming<v1::FollowLogsResponse> {
    let id = "1".to_owned();
    let answer = client
        .follow_logs(v1::FollowLogsRequest { id, offset: 0 })
        .await;
    answer.unwrap().into_inner()
}

/// Returns a script that prints `before`, waits for a file, and prints the rest.
fn script(served: &Served) -> String {
    let go = served.path("go");
    format!(
        "echo before; while [ ! -e '{}' ]; do sleep 0.02; done; seq 1000",
        go.display()
    )
}

fn whole() -> String {
    let lines = (1..=1000).map(|number| format!("{number}\n"));
    format!("before\n{}", lines.collect::<String>())
}

#[tokio::test]
async fn stalled_follower_ends_alone() {
    let mut served = Served::start().await;
    let script = script(&served);
    let request = served.request("1", &script);
    served.client.run(request).await.unwrap();
    let (mut stays, mut goes) = (served.other_client().await, served.other_client().await);
    let (mut stayed, mut gone) = (begin(&mut stays).await, begin(&mut goes).await);
    let first = stayed.message().await.unwrap().unwrap().data;
    assert_eq!(
        plain(&gone.message().await.unwrap().unwrap().data),
        "before\n"
    );
    // Its connection is closed with it, so writes to it fail from now on.
    drop((gone, goes));
    fs::write(served.path("go"), "").unwrap();
    let mut log = first;
    while let Some(piece) = stayed.message().await.unwrap() {
        log.extend_from_slice(&piece.data);
    }
    assert_eq!(plain(&log), whole());
    served.stop().await;
}

#[tokio::test]
async fn follower_may_leave_during_silence() {
    let mut served = Served::start().await;
    let script = script(&served);
    let request = served.request("1", &script);
    served.client.run(request).await.unwrap();
    let mut client = served.other_client().await;
    let mut blocked = begin(&mut client).await;
    assert!(blocked.message().await.unwrap().is_some());
    let next = tokio::time::timeout(Duration::from_millis(50), blocked.message()).await;
    assert!(next.is_err(), "there is nothing to be read");
    drop(blocked);
    // The same connection still works, and the request continues.
    let id = "1".to_owned();
    let answer = client.status(v1::StatusRequest { id }).await.unwrap();
    assert!(!answer.into_inner().jobs[0].finished);
    fs::write(served.path("go"), "").unwrap();
    assert_eq!(plain(&follow(&mut client, "1", 0).await), whole());
    served.stop().await;
}

#[tokio::test]
async fn request_stopped_before_following_is_readable_until_finished() {
    let mut served = Served::start().await;
    let script = script(&served);
    let request = served.request("1", &script);
    served.client.run(request).await.unwrap();
    // The log has output before the stop.
    let mut client = served.other_client().await;
    assert!(begin(&mut client).await.message().await.unwrap().is_some());
    let cancel = v1::CancelRequest {
        id: "1".to_owned(),
        level: Level::Abort.into(),
    };
    served.client.cancel(cancel).await.unwrap();
    let log = served.log("1").await;
    assert_eq!(log.lines().next(), Some("before"));
    served.finish("1").await;
    // Upstream returns an empty log; here a finished request is unknown.
    let id = "1".to_owned();
    let answer = client
        .follow_logs(v1::FollowLogsRequest { id, offset: 0 })
        .await;
    assert_eq!(answer.err().unwrap().code(), Code::NotFound);
    served.stop().await;
}

#[tokio::test]
async fn finish_while_sleeping_reports_cancelled_to_step_followers() {
    let mut served = Served::start().await;
    let ready = served.path("ready");
    let script = format!("touch '{}'; exec sleep 600", ready.display());
    for steps in [
        super::support::steps_of(&[("script", &script)]),
        format!("[{{name: script, script: \"{script}\"}}]"),
    ] {
        let request = v1::RunRequest {
            steps,
            ..served.request("1", "")
        };
        served.client.run(request).await.unwrap();
        super::support::until_there(&ready).await;
        let id = "1".to_owned();
        let told = served
            .client
            .follow_steps(v1::FollowStepsRequest { id: id.clone() })
            .await;
        let mut told = told.unwrap().into_inner();
        served.finish("1").await;
        let mut statuses = Vec::new();
        while let Some(answer) = told.message().await.unwrap() {
            statuses.push(answer.result.unwrap().status());
        }
        assert_eq!(statuses, [Status::Running, Status::Cancelled]);
        // Upstream keeps such a job as cancelled, with "context canceled"; here it is gone when the call returns.
        let status = served.client.status(v1::StatusRequest { id }).await;
        assert_eq!(status.unwrap_err().code(), Code::NotFound);
        fs::remove_file(&ready).unwrap();
    }
    served.stop().await;
}
