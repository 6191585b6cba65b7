//! The running jobs, for metrics.

use crate::config::RunnerConfig;
use crate::job::JobId;
use crate::result::JobState;
use crate::stage::{ExecutorStage, StageCell};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A running job, as one line of a scrape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveJob {
    /// The job.
    pub id: JobId,
    /// The name of the runner it runs on.
    pub runner: String,
    /// The part of that runner's token that is not secret.
    pub runner_token: String,
    /// Its state.
    pub state: JobState,
    /// The name of its build stage; empty before the first.
    pub stage: String,
    /// The stage of its executor.
    pub executor_stage: ExecutorStage,
}

/// The running jobs. Clones share one list; a scrape may happen at any moment.
#[derive(Debug, Clone, Default)]
pub struct ActiveJobs(Arc<Mutex<BTreeMap<u64, Entry>>>);

#[derive(Debug)]
struct Entry {
    job: JobId,
    runner: String,
    runner_token: String,
    state: JobState,
    stage: String,
    executor: StageCell,
}

/// Keeps a job listed until it is dropped.
#[derive(Debug)]
pub struct ActiveJobGuard {
    jobs: ActiveJobs,
    key: u64,
}

impl ActiveJobs {
    /// Returns an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lists a job of the runner with these settings until the guard is dropped.
    pub fn enter(&self, job: JobId, config: &RunnerConfig) -> ActiveJobGuard {
        let mut entries = self.lock();
        let key = entries.last_key_value().map_or(0, |(key, _)| key + 1);
        entries.insert(
            key,
            Entry {
                job,
                runner: config.name.clone(),
                runner_token: config.short_token().to_owned(),
                state: JobState::Pending,
                stage: String::new(),
                executor: StageCell::new(),
            },
        );
        ActiveJobGuard {
            jobs: self.clone(),
            key,
        }
    }

    /// Returns the running jobs with their current stages.
    pub fn scrape(&self) -> Vec<ActiveJob> {
        let entries = self.lock();
        let jobs = entries.values().map(|entry| ActiveJob {
            id: entry.job,
            runner: entry.runner.clone(),
            runner_token: entry.runner_token.clone(),
            state: entry.state,
            stage: entry.stage.clone(),
            executor_stage: entry.executor.get(),
        });
        jobs.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Entry>> {
        self.0.lock()
    }
}

impl ActiveJobGuard {
    /// Sets the job's state.
    pub fn set_state(&self, state: JobState) {
        self.change(|entry| entry.state = state);
    }

    /// Sets the job's build stage.
    pub fn set_stage(&self, stage: &str) {
        self.change(|entry| stage.clone_into(&mut entry.stage));
    }

    /// Reads the stage of the job's executor from this cell from now on.
    pub fn follow(&self, executor: StageCell) {
        self.change(|entry| entry.executor = executor);
    }

    fn change(&self, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.jobs.lock().get_mut(&self.key) {
            change(entry);
        }
    }
}

impl Drop for ActiveJobGuard {
    fn drop(&mut self) {
        self.jobs.lock().remove(&self.key);
    }
}
