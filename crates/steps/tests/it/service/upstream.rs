//! The shape that GitLab Runner's own client speaks.

use steps::wire::upstream::step_result::Status;
use steps::wire::upstream::{
    CloseRequest, FollowLogsRequest, Job, RunRequest, StatusRequest, Variable,
};

use super::support::{Served, plain};

#[tokio::test]
async fn a_job_of_gitlab_runner_runs() {
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
    let job: steps::wire::upstream::Status = job;
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
