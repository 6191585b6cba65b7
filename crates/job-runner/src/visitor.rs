//! Somebody who enters jobs.

use crate::terminals::JobTerminal;
use async_trait::async_trait;
use executor_core::{BuildError, Cancellation, ExitCode, FailureReason, Job, JobTrace};
use std::fmt::Debug;
use std::sync::Arc;

/// Enters jobs, in place of their scripts or after one that failed.
///
/// Give one to [`BuildRunnerOptions::visitor`](crate::BuildRunnerOptions::visitor). The time that a
/// visit takes is none of the job's: its timeouts stand still meanwhile. Other jobs go on, and more
/// than one may be entered at the same time; a visitor who has one terminal lets them wait.
#[async_trait]
pub trait Visitor: Send + Sync + Debug {
    /// Returns whether a job is entered here. It must not take long.
    fn enters(&self, job: &Job, attempt: u32, point: &VisitPoint) -> bool;

    /// Returns the commands that run in place of the scripts of a job that is entered there, instead
    /// of a visit; `None` when it is visited. They run as the script would.
    fn commands(&self, job: &Job) -> Option<Vec<String>>;

    /// Enters the job, and leaves it by returning.
    ///
    /// # Errors
    ///
    /// What a visit in place of the scripts returns is how the scripts ended: an error fails the
    /// job, [`BuildError::Script`] with an exit code. A visit after a failure changes nothing of
    /// how the job ended; an error is a warning in its log.
    ///
    /// # Cancellation
    ///
    /// Ends the visit soon, with [`BuildError::Canceled`]. The future is awaited to its end.
    async fn visit(&self, visit: Visit, cancellation: &Cancellation) -> Result<(), BuildError>;
}

/// Where in its life a job is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VisitPoint {
    /// All is there for the scripts, and none of them runs. Neither is anything kept of the job
    /// then: no artifacts, no caches.
    InPlaceOfScripts,
    /// A script has failed, and the environment is as it left it. What comes after it, such as
    /// `after_script` and artifacts, follows the visit.
    AfterFailure(FailedScript),
}

/// The script that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedScript {
    /// Why the job fails.
    pub reason: FailureReason,
    /// What it exited with, if it did by itself.
    pub exit_code: Option<ExitCode>,
    /// The same in words.
    pub message: String,
}

/// A job that is entered.
#[derive(Debug)]
#[non_exhaustive]
pub struct Visit {
    /// The job.
    pub job: Arc<Job>,
    /// For the how manieth time it runs, from 1.
    pub attempt: u32,
    /// Where in its life it is.
    pub point: VisitPoint,
    /// What opens shells in it.
    pub terminal: JobTerminal,
    /// The job's log, in which secrets are masked.
    pub log: Arc<dyn JobTrace>,
}
