//! The jobs that run now, for metrics.

use crate::config::RunnerConfig;
use crate::job::JobId;
use crate::result::JobState;
use crate::stage::{ExecutorStage, StageCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One line of a scrape: a job that runs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveJob {
    /// The job.
    pub id: JobId,
    /// The name of the runner it runs on.
    pub runner: String,
    /// The part of that runner's token that may be shown.
    pub runner_token: String,
    /// Where it stands.
    pub state: JobState,
    /// The stage of the build, by its name; empty before the first.
    pub stage: String,
    /// What its executor is doing.
    pub executor_stage: ExecutorStage,
}

/// The jobs that run now. Clones share one list; a scrape may come at any moment.
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

    /// Returns the jobs that run at this moment, with the stages they are in.
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActiveJobGuard {
    /// Reports the job's state.
    pub fn set_state(&self, state: JobState) {
        self.change(|entry| entry.state = state);
    }

    /// Reports the stage of the build.
    pub fn set_stage(&self, stage: &str) {
        self.change(|entry| stage.clone_into(&mut entry.stage));
    }

    /// Reports the stage of the job's executor from this cell on.
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
