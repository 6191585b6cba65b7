use crate::Status;
use executor_core::{FailureReason, JobProducts, JobVariable, ReusedFrom};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The progress of a pipeline in an earlier run, by the names of its jobs.
///
/// A job in neither map has not been decided.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunProgress {
    /// The jobs that had ended, and those that were skipped.
    pub finished: BTreeMap<String, FinishedJob>,
    /// The jobs that were about to run, ran, or waited for the user.
    pub begun: BTreeMap<String, BegunJob>,
    /// The jobs that decide the exit code.
    pub deciding: DecidingJobs,
}

/// The jobs of a continued pipeline that decide its exit code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DecidingJobs {
    /// All of them.
    #[default]
    All,
    /// Those that run now; earlier failures do not count.
    RunNow,
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedJob {
    /// The final status.
    pub status: Status,
    /// The number of attempts; 0 for a job that never ran.
    pub attempts: u32,
    /// The exit code of its script, when one decided.
    pub exit_code: Option<i32>,
    /// Why it did not succeed.
    pub failure_reason: Option<FailureReason>,
    /// The duration of all attempts together.
    pub duration: Duration,
    /// Whether it may fail.
    pub allow_failure: bool,
    /// Its artifacts, variables, tests and coverage.
    pub products: Arc<JobProducts>,
    /// The run whose result it reused instead of running.
    pub reused: Option<ReusedFrom>,
}

/// A job that had been decided, but had not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct BegunJob {
    /// Its last status; a job that ran runs again.
    pub status: Status,
    /// The number of its attempt, from 1.
    pub attempt: u32,
    /// Whether the user had started it by hand.
    pub played: bool,
    /// Whether it had ended before and was to run again.
    pub again: bool,
    /// When it got that status: of a delay, only the rest is waited for.
    pub since: Option<Timestamp>,
    /// The variables that the user started it with.
    pub variables: Vec<JobVariable>,
}

impl RunProgress {
    /// Returns whether no job has progressed.
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty() && self.begun.is_empty()
    }
}

impl BegunJob {
    /// Returns a job of which only the status and the attempt are known.
    pub fn new(status: Status, attempt: u32) -> Self {
        Self {
            status,
            attempt,
            played: false,
            again: false,
            since: None,
            variables: Vec::new(),
        }
    }
}
