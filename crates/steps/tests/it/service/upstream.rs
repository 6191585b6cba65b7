//! GitLab Runner's own protocol.

use steps::wire::upstream::step_result::Status;
use steps::wire::upstream::{
    CloseRequest, FollowLogsRequest, Job, RunRequest, StatusRequest, Variable,
};

use super::support::{Served, lives, plain, until_there};
use steps::wire::upstream;
use steps::wire::v1;
use tonic::Code;

#[tokio::test]
async fn job_of_gitlab_runner_runs() {
    let served = Served::start().await;
    let mut client = served.upstream().await;
    let id = "1234".to_owned();
    let variables = vec![Variable {
        key: "A".to_owned(),
        value: "hunter2".to_owned(),
        masked: true,
        ..Variable::default()
    }];
    let steps = "{}\n---\nrun:\n    - name: greet\n      script: |-\n        echo hello $A\n        exit 42\n";
    let request = RunRequest {
        id: id.clone(),
        job: Some(Job {
            variables,
            build_dir: served.path("build").display().to_string(),
        }),
        steps: steps.to_owned(),
        ..RunRequest::default()
    };
    client.run(request.clone()).await.unwrap();
    client.run(request).await.unwrap();
    let follow = FollowLogsRequest {
        id: id.clone(),
        offset: 0,
    };
    let mut pieces = client.follow_logs(follow).await.unwrap().into_inner();
    let mut log = Vec::new();
    while let Some(piece) = pieces.message().await.unwrap() {
        log.extend_from_slice(&piece.data);
    }
    assert_eq!(plain(&log), "Running step \"greet\"\nhello [MASKED]\n");
    let jobs = client
        .status(StatusRequest { id: id.clone() })
        .await
        .unwrap()
        .into_inner()
        .jobs;
    let [job] = jobs.try_into().unwrap();
    let job: upstream::Status = job;
    assert_eq!(
        (job.status(), job.message.as_str()),
        (Status::Failure, "exit status 42")
    );
    assert!(job.start_time.is_some() && job.end_time.is_some());
    for _ in 0..2 {
        client.close(CloseRequest { id: id.clone() }).await.unwrap();
    }
    let left = client
        .status(StatusRequest::default())
        .await
        .unwrap()
        .into_inner()
        .jobs;
    assert_eq!(left, []);
    served.stop().await;
}

/// Returns a request with one script.
fn request(served: &Served, id: &str, script: &str) -> RunRequest {
    RunRequest {
        id: id.to_owned(),
        work_dir: served.path("work").display().to_string(),
        steps: super::support::steps_of(&[("script", script)]),
        ..RunRequest::default()
    }
}

#[tokio::test]
async fn upstream_statuses_are_mapped() {
    let mut served = Served::start().await;
    let mut client = served.upstream().await;
    let told = |jobs: upstream::StatusResponse| -> Vec<(Status, String)> {
        let jobs = jobs.jobs.into_iter();
        jobs.map(|job| (job.status(), job.message)).collect()
    };
    let status = |id: &str| StatusRequest { id: id.to_owned() };

    client.run(request(&served, "good", "true")).await.unwrap();
    served.until("good", |status| status.finished).await;
    let good = client.status(status("good")).await.unwrap().into_inner();
    assert_eq!(told(good), [(Status::Success, String::new())]);

    let ready = served.path("ready");
    let script = format!(
        "echo $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 612",
        ready.display()
    );
    client.run(request(&served, "long", &script)).await.unwrap();
    until_there(&ready).await;
    let running = client.status(status("long")).await.unwrap().into_inner();
    assert_eq!(told(running), [(Status::Running, String::new())]);
    let cancel = v1::CancelRequest {
        id: "long".to_owned(),
        level: 0,
    };
    served.client.cancel(cancel).await.unwrap();
    served.until("long", |status| status.finished).await;
    let long = client.status(status("long")).await.unwrap().into_inner();
    assert_eq!(long.jobs[0].status(), Status::Cancelled);

    std::fs::remove_file(&ready).unwrap();
    client.run(request(&served, "shut", &script)).await.unwrap();
    until_there(&ready).await;
    let pid = std::fs::read_to_string(&ready).unwrap();
    let follow = FollowLogsRequest {
        id: "shut".to_owned(),
        offset: 0,
    };
    let mut pieces = client.follow_logs(follow).await.unwrap().into_inner();
    let close = CloseRequest {
        id: "shut".to_owned(),
    };
    client.close(close).await.unwrap();
    assert!(!lives(&pid, "sleep 612"));
    // Followers see the end.
    while pieces.message().await.unwrap().is_some() {}
    let shut = client.status(status("shut")).await;
    assert_eq!(shut.unwrap_err().code(), Code::NotFound);
    served.stop().await;
}

#[tokio::test]
async fn unknown_request_is_not_found() {
    let mut served = Served::start().await;
    let mut client = served.upstream().await;
    let status = || StatusRequest { id: "1".to_owned() };
    let close = CloseRequest { id: "1".to_owned() };
    // Upstream creates a job before it runs; its status is unspecified then, and closing it cancels it with "context
    // canceled". Here no such state exists: a request is known once it runs, and before that its id is unknown.
    let unknown = client.status(status()).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    client.close(close).await.unwrap();
    let unknown = client.status(status()).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
    client
        .run(request(
            &served,
            "1",
            "while [ ! -e go ]; do sleep 0.02; done",
        ))
        .await
        .unwrap();
    let running = client.status(status()).await.unwrap().into_inner().jobs;
    assert_eq!(running[0].status(), Status::Running);
    std::fs::write(served.path("work/go"), "").unwrap();
    served.until("1", |status| status.finished).await;
    let ended = client.status(status()).await.unwrap().into_inner().jobs;
    assert_eq!(ended[0].status(), Status::Success);
    served.stop().await;
}

#[tokio::test]
async fn invalid_options_are_refused() {
    let mut served = Served::start().await;
    let mut client = served.upstream().await;
    client.run(request(&served, "known", "true")).await.unwrap();
    served.until("known", |status| status.finished).await;
    for (id, offset, expect) in [
        ("known", -1, Code::InvalidArgument),
        ("unknown", 0, Code::NotFound),
    ] {
        let id = id.to_owned();
        let refused = client.follow_logs(FollowLogsRequest { id, offset }).await;
        assert_eq!(refused.err().unwrap().code(), expect);
    }
    let id = "unknown".to_owned();
    let refused = client.status(StatusRequest { id: id.clone() }).await;
    assert_eq!(refused.unwrap_err().code(), Code::NotFound);
    client.close(CloseRequest { id }).await.unwrap();
    served.stop().await;
}
