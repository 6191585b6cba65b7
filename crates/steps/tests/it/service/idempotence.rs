//! Repeated, concurrent and unknown calls.

use std::fs;
use std::time::{Duration, Instant};

use steps::wire::v1;
use steps::wire::v1::result::State;
use tokio::task::JoinSet;
use tokio_stream::StreamExt;
use tonic::Code;

use super::support::{PATIENCE, Served, follow, lives, until_there};
use crate::together::until_all_there;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_runs_of_one_id_start_once() {
    // R-STEP-18
    let mut served = Served::start().await;
    let count = served.path("count");
    for round in 0..10 {
        let id = format!("race-{round}");
        let script = format!("echo {id} >> '{}'", count.display());
        let mut runs = JoinSet::new();
        for _ in 0..50 {
            let mut client = served.client.clone();
            let request = served.request(&id, &script);
            runs.spawn(async move { client.run(request).await.unwrap() });
        }
        assert_eq!(runs.join_all().await.len(), 50);
        served.until(&id, |status| status.finished).await;
    }
    let starts = fs::read_to_string(&count).unwrap();
    let expect: Vec<_> = (0..10).map(|round| format!("race-{round}")).collect();
    assert_eq!(starts.lines().collect::<Vec<_>>(), expect);
    assert_eq!(served.service.requests(), 10);
    served.stop().await;
}

#[tokio::test]
async fn run_for_another_instance_is_refused() {
    // R-STEP-18
    let mut served = Served::start().await;
    let count = served.path("count");
    let script = format!("echo x >> '{}'", count.display());
    let hello = served.client.hello(v1::HelloRequest {}).await.unwrap();
    let own = hello.into_inner().instance;
    for instance in [own.as_str(), "another", "", own.as_str(), "another"] {
        let request = v1::RunRequest {
            instance: instance.to_owned(),
            ..served.request("1", &script)
        };
        let taken = served.client.run(request).await;
        let refused = taken.err().map(|status| status.code());
        let expect = (instance == "another").then_some(Code::FailedPrecondition);
        assert_eq!(refused, expect, "{instance:?}");
    }
    served.until("1", |status| status.finished).await;
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    served.stop().await;
}

#[tokio::test]
async fn stalled_transfer_is_aborted() {
    let mut served = Served::with(|options| {
        options.longest_stall = Duration::from_millis(50);
    })
    .await;
    let first = v1::PutFilesRequest {
        directory: served.path("to").display().to_string(),
        ..v1::PutFilesRequest::default()
    };
    let pieces = tokio_stream::once(first).chain(tokio_stream::pending());
    let put = served.client.put_files(pieces).await;
    assert_eq!(put.unwrap_err().code(), Code::DeadlineExceeded);
    served.stop().await;
}

#[tokio::test]
async fn repeated_calls_get_the_same_answer() {
    // R-STEP-17
    let mut served = Served::start().await;
    let (count, ready) = (served.path("count"), served.path("ready"));
    let script = format!(
        "echo x >> '{}'; echo out; touch '{}'; sleep 600",
        count.display(),
        ready.display()
    );
    let request = served.request("1", &script);
    let id = || "1".to_owned();
    let first = served.client.run(request.clone()).await.unwrap();
    until_there(&ready).await;
    let again = served.client.run(request).await.unwrap();
    assert_eq!(again.into_inner(), first.into_inner());
    let level = v1::cancel_request::Level::Cancel.into();
    for _ in 0..2 {
        let cancel = v1::CancelRequest { id: id(), level };
        let answer = served.client.cancel(cancel).await.unwrap();
        assert_eq!(answer.into_inner(), v1::CancelResponse {});
    }
    let mut told = Vec::new();
    for _ in 0..2 {
        let follow = v1::FollowStepsRequest { id: id() };
        let answers = served.client.follow_steps(follow).await.unwrap();
        let answers: Vec<_> = answers.into_inner().map(Result::unwrap).collect().await;
        told.push(answers);
    }
    assert_eq!(told[0], told[1]);
    let last = told[0].last().and_then(|answer| answer.result.as_ref());
    assert_eq!(last.unwrap().status(), v1::step_result::Status::Cancelled);
    let log = follow(&mut served.client, "1", 0).await;
    assert_eq!(super::support::plain(&log), "out\n");
    assert_eq!(follow(&mut served.client, "1", 0).await, log);
    for _ in 0..2 {
        let finish = v1::FinishRequest { id: id() };
        let answer = served.client.finish(finish).await.unwrap();
        assert_eq!(answer.into_inner(), v1::FinishResponse {});
    }
    assert_eq!(served.service.requests(), 0);
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    served.stop().await;
}

#[tokio::test]
async fn finish_ends_the_request_and_leaves_nothing() {
    // R-STEP-19
    let mut served = Served::start().await;
    let ready = served.path("ready");
    let script = format!(
        "cat \"$CERT\" > '{1}'; trap '' TERM; sleep 611 & echo $! > '{0}.new'; mv '{0}.new' '{0}'; wait; sleep 600",
        ready.display(),
        served.path("read").display()
    );
    let mut request = served.request("1", &script);
    request.job = Some(job_with_file("CERT", "content"));
    request.timing = Some(super::support::long_grace());
    served.client.run(request).await.unwrap();
    until_there(&ready).await;
    assert_eq!(fs::read_to_string(served.path("read")).unwrap(), "content");
    assert!(served.path("work.tmp/CERT").exists());
    let pid = fs::read_to_string(&ready).unwrap();
    // The file exists before its name is changed.
    while !lives(&pid, "sleep 611") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let begin = Instant::now();
    served.finish("1").await;
    // It was killed without a signal before.
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    assert!(!lives(&pid, "sleep 611"));
    assert!(!served.path("work.tmp").exists());
    assert_eq!(
        fs::read_dir(served.path("state/requests")).unwrap().count(),
        0
    );
    for id in ["1", "1", "never-there"] {
        served.finish(id).await;
    }
    assert_eq!(served.service.requests(), 0);
    // The id can be used again.
    let (log, _) = served.run(served.request("1", "echo again")).await;
    assert_eq!(log, "again\n");
    served.stop().await;
}

/// Returns a job with a file variable.
fn job_with_file(key: &str, value: &str) -> v1::Job {
    let file = v1::Variable {
        key: key.to_owned(),
        value: value.to_owned(),
        file: true,
        ..v1::Variable::default()
    };
    v1::Job {
        variables: vec![file],
        ..v1::Job::default()
    }
}

#[tokio::test]
async fn service_removes_only_its_own_file_variables() {
    let mut served = Served::start().await;
    let mut kept = served.request("kept", "true");
    kept.job = Some(job_with_file("CERT", "kept"));
    kept.temp_dir = served.path("given").display().to_string();
    let mut gone = served.request("gone", "true");
    gone.job = Some(job_with_file("CERT", "gone"));
    for request in [kept, gone] {
        served.run(request).await;
    }
    served.finish("kept").await;
    let cert = served.path("given/CERT");
    assert_eq!(fs::read_to_string(cert).unwrap(), "kept");
    // It has ended, and is not finished.
    assert!(served.path("work.tmp/CERT").exists());
    let folder = served.stop().await;
    assert!(!folder.path().join("work.tmp").exists());
}

#[tokio::test]
async fn unknown_names_are_reported() {
    let mut served = Served::start().await;
    let id = || "x".to_owned();
    let client = &mut served.client;
    let logs = client
        .follow_logs(v1::FollowLogsRequest {
            id: id(),
            offset: 0,
        })
        .await;
    let steps = client
        .follow_steps(v1::FollowStepsRequest { id: id() })
        .await;
    let status = client.status(v1::StatusRequest { id: id() }).await;
    let cancel = client
        .cancel(v1::CancelRequest { id: id(), level: 0 })
        .await;
    let codes = [
        logs.err().unwrap().code(),
        steps.err().unwrap().code(),
        status.unwrap_err().code(),
        cancel.unwrap_err().code(),
    ];
    assert_eq!(codes, [Code::NotFound; 4]);
    served.stop().await;
}

#[tokio::test]
async fn status_reports_one_or_all() {
    // R-STEP-12
    // R-STEP-26
    let mut served = Served::start().await;
    served.run(served.request("a", "exit 3")).await;
    let ready = served.path("ready");
    served
        .client
        .run(served.request("b", &format!("touch '{}'; sleep 600", ready.display())))
        .await
        .unwrap();
    until_there(&ready).await;
    let all = served
        .client
        .status(v1::StatusRequest::default())
        .await
        .unwrap()
        .into_inner()
        .jobs;
    let all: Vec<_> = all
        .iter()
        .map(|job| (job.id.as_str(), job.finished, job.exit_code))
        .collect();
    assert_eq!(all, [("a", true, 3), ("b", false, 0)]);
    assert_eq!(
        served.status("b").await.result.unwrap().state(),
        State::Running
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_do_not_mix() {
    // R-STEP-14
    let served = Served::start().await;
    let there = served.path("there");
    fs::create_dir(&there).unwrap();
    let mut runs = JoinSet::new();
    for number in 0..20 {
        let mut client = served.client.clone();
        // Each one waits for all others, so sequential runs would hang.
        let wait = until_all_there(&there, number, 20);
        let request = served.request(
            &number.to_string(),
            &format!("{wait}; for i in 1 2 3; do echo {number}:$i; sleep 0.05; done"),
        );
        runs.spawn(async move {
            let id = request.id.clone();
            client.run(request).await.unwrap();
            let log = super::support::plain(&follow(&mut client, &id, 0).await);
            assert_eq!(log, format!("{id}:1\n{id}:2\n{id}:3\n"));
        });
    }
    assert_eq!(runs.join_all().await.len(), 20);
    served.stop().await;
}

#[tokio::test]
async fn early_leaving_followers_harm_nothing() {
    // R-STEP-20
    let mut served = Served::start().await;
    let script = "for i in $(seq 1 200); do echo line $i; done; sleep 0.3; echo end";
    served
        .client
        .run(served.request("1", script))
        .await
        .unwrap();
    for _ in 0..5 {
        let mut client = served.other_client().await;
        let id = "1".to_owned();
        let answer = client
            .follow_logs(v1::FollowLogsRequest { id, offset: 0 })
            .await;
        let first = answer.unwrap().into_inner().message().await.unwrap();
        assert!(first.is_some());
    }
    let log = served.log("1").await;
    assert!(log.ends_with("line 200\nend\n"), "{log}");
    assert_eq!(log.lines().count(), 201);
    served.stop().await;
}

#[tokio::test]
async fn two_clients_follow_what_runs() {
    // R-STEP-15
    let mut served = Served::start().await;
    let go = served.path("go");
    let script = format!(
        "echo one; while [ ! -e '{}' ]; do sleep 0.02; done; echo two",
        go.display()
    );
    served
        .client
        .run(served.request("1", &script))
        .await
        .unwrap();
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut client = served.other_client().await;
        let id = "1".to_owned();
        let answer = client
            .follow_logs(v1::FollowLogsRequest { id, offset: 0 })
            .await;
        let mut pieces = answer.unwrap().into_inner();
        let first = pieces.message().await.unwrap().unwrap();
        assert_eq!(super::support::plain(&first.data), "one\n");
        streams.push(pieces);
    }
    fs::write(&go, "").unwrap();
    for mut pieces in streams {
        let mut rest = Vec::new();
        while let Some(piece) = pieces.message().await.unwrap() {
            rest.extend_from_slice(&piece.data);
        }
        assert_eq!(super::support::plain(&rest), "two\n");
    }
    served.stop().await;
}

#[tokio::test]
async fn client_finds_running_requests_after_a_crash() {
    let served = Served::start().await;
    let go = served.path("go");
    let script = format!(
        "echo one; while [ ! -e '{}' ]; do sleep 0.02; done; echo two",
        go.display()
    );
    let mut first = served.other_client().await;
    first.run(served.request("1", &script)).await.unwrap();
    drop(first);
    let mut second = served.other_client().await;
    let all = second
        .status(v1::StatusRequest::default())
        .await
        .unwrap()
        .into_inner()
        .jobs;
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].id.as_str(), all[0].finished), ("1", false));
    fs::write(&go, "").unwrap();
    let log = follow(&mut second, "1", 0).await;
    assert_eq!(super::support::plain(&log), "one\ntwo\n");
    served.stop().await;
}
