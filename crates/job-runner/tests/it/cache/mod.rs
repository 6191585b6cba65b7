//! Caches between jobs and between runs.

mod failures;
mod jobs;
mod store;

use crate::support::Bench;
use executor_core::job::{ArtifactWhen, Cache, Job};
use executor_core::{JobState, JobVariable};
use executor_testkit::JobBuilder;
use job_runner::{BuildRunnerOptions, LocalCaches};
use std::sync::Arc;
use tempfile::TempDir;

/// A directory of caches, and jobs that use it.
struct Scene {
    root: TempDir,
    caches: LocalCaches,
}

impl Scene {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        let caches = LocalCaches::at(root.path().join("caches")).of_project("p");
        Self { root, caches }
    }

    /// Runs a job as a separate run, and returns its log; it must succeed if `succeeds`.
    async fn run(&self, job: Job, succeeds: bool) -> String {
        self.run_with(&self.caches, job, succeeds).await
    }

    async fn run_with(&self, caches: &LocalCaches, job: Job, succeeds: bool) -> String {
        let builds = tempfile::tempdir_in(self.root.path()).expect("a directory");
        let options = BuildRunnerOptions {
            caches: Some(Arc::new(caches.clone())),
            ..BuildRunnerOptions::default()
        };
        let bench = Bench::shell(builds.path(), options);
        let outcome = bench.run(job).await;
        let is_success = outcome.state == JobState::Success;
        assert_eq!(is_success, succeeds, "{}", bench.log());
        bench.log()
    }

    /// Runs a job with this script and these caches.
    async fn script(&self, script: &str, caches: &[Cache]) -> String {
        self.run(job(script, caches), true).await
    }

    /// Returns the sorted keys of all caches.
    fn keys(&self) -> Vec<String> {
        let entries = self.caches.entries().expect("listed").into_iter();
        let mut keys: Vec<String> = entries.map(|entry| entry.key).collect();
        keys.sort();
        keys
    }
}

fn job(script: &str, caches: &[Cache]) -> Job {
    job_with(script, caches, &[])
}

fn job_with(script: &str, caches: &[Cache], variables: &[(&str, &str)]) -> Job {
    let builder = JobBuilder::new(1).script([script]);
    let variables = variables.iter();
    let builder = variables.fold(builder, |builder, (name, value)| {
        builder.variable(JobVariable::public(*name, *value))
    });
    builder.with(|job| job.cache = caches.to_vec()).build()
}

fn cache(key: &str, paths: &[&str]) -> Cache {
    Cache {
        key: key.to_owned(),
        paths: paths.iter().map(ToString::to_string).collect(),
        policy: "pull-push".to_owned(),
        when: ArtifactWhen::OnSuccess,
        ..Cache::default()
    }
}

/// Asserts that a log has this text.
#[track_caller]
fn has(log: &str, text: &str) {
    assert!(log.contains(text), "no {text:?} in {log}");
}

/// Asserts that a log does not have this text.
#[track_caller]
fn has_no(log: &str, text: &str) {
    assert!(!log.contains(text), "{text:?} is in {log}");
}
