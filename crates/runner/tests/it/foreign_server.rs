//! The runner against `gitlab-runner-mock`, the server that another project tests its runner with.

use crate::bench::{Bench, PATIENCE};
use gitlab_runner_mock::{
    GitlabRunnerMock, MockJob, MockJobState, MockJobStepName, MockJobStepWhen,
};
use runner::DeliveryTimes;
use std::time::Duration;

struct Foreign {
    server: GitlabRunnerMock,
    bench: Bench,
}

impl Foreign {
    async fn new() -> Self {
        let server = GitlabRunnerMock::start().await;
        server.set_update_interval(1);
        let mut bench = Bench::new();
        let settings = &mut bench.settings.runners[0];
        settings.url = server.uri();
        settings.config.token = server.runner_token().into();
        Self { server, bench }
    }

    fn job(
        &self,
        script: &[&str],
        change: impl FnOnce(&mut gitlab_runner_mock::MockJobBuilder),
    ) -> MockJob {
        let mut job = self.server.job_builder("job".to_owned());
        // Its jobs name a repository that does not exist.
        job.add_variable("GIT_STRATEGY".to_owned(), "none".to_owned(), true, false);
        let script = script.iter().map(|it| (*it).to_owned()).collect();
        job.add_step(
            MockJobStepName::Script,
            script,
            3600,
            MockJobStepWhen::OnSuccess,
            false,
        );
        change(&mut job);
        let job = job.build();
        self.server.enqueue_job(job.clone());
        job
    }
}

async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn log_and_artifacts_reach_a_foreign_server() {
    let foreign = Foreign::new().await;
    let job = foreign.job(&["echo hello; echo made > file"], |it| {
        it.add_artifact_paths(vec!["file".to_owned()]);
    });
    let runner = foreign.bench.start();
    until(|| job.finished()).await;
    runner.finish().await;
    assert_eq!(job.state(), MockJobState::Success);
    let log = String::from_utf8_lossy(&job.log()).into_owned();
    assert!(
        log.contains("hello") && log.contains("Job succeeded"),
        "{log}"
    );
    let uploads: Vec<_> = job.uploaded_artifacts().collect();
    assert_eq!(uploads.len(), 1);
    assert_eq!(uploads[0].filename.as_deref(), Some("artifacts.zip"));
    // It looks for the type in the body; here it is in the address, as with GitLab Runner, so no job can depend on this one.
    assert!(uploads[0].data.starts_with(b"PK"));
}

#[tokio::test(flavor = "multi_thread")]
async fn cancellation_by_a_foreign_server_ends_a_silent_job() {
    let foreign = Foreign::new().await;
    let job = foreign.job(&["echo begun; sleep 600"], |_| {});
    let runner = foreign.bench.start_with(DeliveryTimes {
        cancel_check: Duration::from_millis(50),
        ..DeliveryTimes::default()
    });
    until(|| String::from_utf8_lossy(&job.log()).contains("begun")).await;
    job.cancel();
    // It returns when the job has ended.
    runner.finish().await;
    assert_eq!(job.state(), MockJobState::Cancelled);
    assert_eq!(foreign.bench.left(), Vec::<String>::new());
}
