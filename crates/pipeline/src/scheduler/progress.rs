use super::Status;
use crate::plan::Plan;
use executor_core::job::When;
use executor_core::{FailureReason, JobProducts, JobVariable};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How far a pipeline has come, by the names of its jobs.
///
/// A job that is not mentioned has not been decided on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
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
    /// When it came to that status: a delay goes on where it stood.
    pub since: Option<Timestamp>,
    /// The variables it was started with by hand.
    pub variables: Vec<JobVariable>,
}

impl Progress {
    /// Returns whether nothing has happened yet.
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty() && self.begun.is_empty()
    }

    /// Returns the progress to go on from when all that was canceled is wanted after all.
    #[must_use]
    pub fn for_resume(&self, plan: &Plan) -> Self {
        self.without(plan, |job| job.status == Status::Canceled)
    }

    /// Returns the progress to go on from when what failed or was canceled is tried again.
    ///
    /// A job that is allowed to fail is tried again as well, as with GitLab.
    #[must_use]
    pub fn for_retry(&self, plan: &Plan) -> Self {
        self.without(plan, |job| {
            matches!(job.status, Status::Failed | Status::Canceled)
        })
    }

    /// Returns the progress as if some jobs had never run. What stood behind one of them, or was
    /// skipped, is decided again; what has ended well stays.
    fn without(&self, plan: &Plan, forgotten: impl Fn(&FinishedJob) -> bool) -> Self {
        if !self.finished.values().any(&forgotten) {
            return self.clone();
        }
        let is_manual = |name: &str| {
            let job = plan.position(name).map(|at| &plan.jobs()[at]);
            job.is_some_and(|job| job.definition.when == When::Manual)
        };
        let mut left = Self::default();
        for (name, job) in &self.finished {
            if forgotten(job) {
                // Somebody started it, and now wants it once more.
                if job.attempts > 0 && is_manual(name) {
                    left.begun
                        .insert(name.clone(), BegunJob::played(Vec::new()));
                }
            } else if job.status != Status::Skipped {
                left.finished.insert(name.clone(), job.clone());
            }
        }
        for (name, job) in &self.begun {
            let played = job.played || (job.status.is_active() && is_manual(name));
            let again = BegunJob {
                status: Status::Created,
                played,
                since: None,
                ..job.clone()
            };
            left.begun.insert(name.clone(), again);
        }
        left
    }
}

impl BegunJob {
    /// Returns a job of which no more is known than where it stood.
    pub fn new(status: Status, attempt: u32) -> Self {
        Self {
            status,
            attempt,
            played: false,
            since: None,
            variables: Vec::new(),
        }
    }

    /// Returns a manual job that somebody starts, with these variables, as soon as all before it has
    /// passed.
    pub fn played(variables: Vec<JobVariable>) -> Self {
        Self {
            played: true,
            variables,
            ..Self::new(Status::Created, 1)
        }
    }
}
