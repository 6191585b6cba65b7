use super::Status;
use executor_core::{FailureReason, JobProducts, JobVariable, ReusedFrom};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How far a pipeline has come, by the names of its jobs.
///
/// A job that is not mentioned has not been decided on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunProgress {
    /// The jobs that have ended, and those that were skipped.
    pub finished: BTreeMap<String, FinishedJob>,
    /// Those that were about to run, ran, or waited for somebody.
    pub begun: BTreeMap<String, BegunJob>,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedJob {
    /// The status it came to; a final one.
    pub status: Status,
    /// How many attempts there were; 0 for a job that never ran.
    pub attempts: u32,
    /// The exit code of its script, when one decided.
    pub exit_code: Option<i32>,
    /// Why it did not succeed.
    pub failure_reason: Option<FailureReason>,
    /// How long all attempts took together.
    pub duration: Duration,
    /// Whether its failure lets the pipeline pass.
    pub allow_failure: bool,
    /// What it left.
    pub products: Arc<JobProducts>,
    /// Where its end comes from, when its last attempt did not run.
    pub reused: Option<ReusedFrom>,
}

/// A job that had been decided on, but had not ended.
#[derive(Debug, Clone, PartialEq)]
pub struct BegunJob {
    /// The last status it was seen in; one that ran runs again.
    pub status: Status,
    /// The attempt it was at, from 1.
    pub attempt: u32,
    /// Whether somebody started it by hand.
    pub played: bool,
    /// Whether it had ended before, and was to run again.
    pub again: bool,
    /// When it came to that status: a delay goes on where it stood.
    pub since: Option<Timestamp>,
    /// The variables it was started with by hand.
    pub variables: Vec<JobVariable>,
}

impl RunProgress {
    /// Returns whether nothing has happened yet.
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty() && self.begun.is_empty()
    }
}

impl BegunJob {
    /// Returns a job of which no more is known than where it stood.
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
