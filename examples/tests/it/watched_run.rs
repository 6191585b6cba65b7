#![expect(
    clippy::disallowed_methods,
    reason = "the test makes a repository with git"
)]

use executor_core::{ActiveJobs, Cancellation};
use executor_layers::{Metrics, MetricsLayer, MetricsOptions};
use parking_lot::Mutex;
use runwright::shell::ShellConfig;
use runwright::{LocalProject, LocalRun, PipelineOptions, RunExecutor, RunOptions, StateDir};
use scheduler::RunExit;
use scheduler::event::{EventKind, EventSink, PipelineEvent, StageState};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Scrapes the metrics when the script of a job starts.
#[derive(Debug)]
struct Scraper {
    metrics: Metrics,
    scraped: Mutex<String>,
}

impl EventSink for Scraper {
    fn event(&self, event: &PipelineEvent) {
        if let EventKind::JobStage { name, state, .. } = &event.kind
            && &**name == "step_script"
            && *state == StageState::Started
        {
            *self.scraped.lock() = self.metrics.scrape().unwrap();
        }
    }
}

fn make_repository(directory: &Path) {
    std::fs::write(directory.join(".gitlab-ci.yml"), "test: {script: 'true'}\n").unwrap();
    let git = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
    for arguments in [
        &["init", "-q"][..],
        &["add", "-A"],
        &["-c", "commit.gpgsign=false", "commit", "-qm", "Test"],
    ] {
        let mut command = Command::new("git");
        command.args(git).args(arguments).current_dir(directory);
        assert!(command.status().unwrap().success(), "{command:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_show_running_jobs_of_a_local_run() {
    let repository = tempfile::tempdir().unwrap();
    let state = tempfile::tempdir().unwrap();
    make_repository(repository.path());
    let active = ActiveJobs::new();
    let metrics = Metrics::new(MetricsOptions {
        active: active.clone(),
        ..MetricsOptions::default()
    });
    let metrics = metrics.unwrap();

    let project = LocalProject::find(repository.path(), None).unwrap();
    let read = project.read(&PipelineOptions::default()).unwrap();
    let (pipeline, _warnings) = read.into_result().unwrap();
    let options = RunOptions {
        active,
        ..RunOptions::default()
    };
    let state = StateDir::at(state.path());
    let shell = RunExecutor::from(ShellConfig {
        login: false,
        ..ShellConfig::default()
    });
    let run = LocalRun::builder(&pipeline)
        .state(state)
        .options(options)
        .executor(shell.layer(MetricsLayer::new(&metrics)));
    let run = run.prepare().await.unwrap();
    let sink = Arc::new(Scraper {
        metrics: metrics.clone(),
        scraped: Mutex::default(),
    });
    let go_on = Cancellation::new();
    let report = run.execute(sink.clone(), &go_on);
    assert_eq!(report.await.unwrap().exit, RunExit::Success);

    let scraped = sink.scraped.lock();
    let runs = r#"runner_name="local",stage="step_script",state="running""#;
    assert!(scraped.contains(runs), "{scraped}");
    let after = metrics.scrape().unwrap();
    assert!(!after.contains(runs), "{after}");
    assert!(after.contains("gitlab_runner_jobs_total"), "{after}");
}
