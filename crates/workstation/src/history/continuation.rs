//! Going on with an earlier run.

use executor_core::variable::JobVariable;
use scheduler::Status;
use serde::{Deserialize, Serialize};

/// An earlier run that is gone on with, in its own directory and under its own number.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    /// The run.
    pub run: u64,
    /// What of it is run.
    pub kind: ContinuationKind,
    /// What the jobs that are played have besides their own variables.
    pub variables: Vec<JobVariable>,
}

/// What of an earlier run is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContinuationKind {
    /// What had not finished: it never started, ran when the process died, or was canceled.
    Resume,
    /// That, and what failed, with all that was skipped because of it.
    Retry,
    /// As [`Resume`](Self::Resume), and these jobs run once more, however they ended. What was skipped is
    /// decided anew; other jobs that failed stay as they are.
    RetryJobs(Vec<String>),
    /// As [`Resume`](Self::Resume), and these manual jobs are played.
    Play(Vec<String>),
    /// As [`Resume`](Self::Resume), and manual jobs of a pipeline below are played.
    PlayBelow {
        /// That pipeline.
        run: u64,
        /// The jobs.
        jobs: Vec<String>,
    },
}

impl ContinuationKind {
    /// Returns whether a job that ended like this is to run again, although it has run.
    pub(super) fn wants_again(&self, job: &str, status: Status) -> bool {
        match self {
            Self::Retry => status == Status::Failed,
            Self::RetryJobs(jobs) => jobs.iter().any(|it| it == job),
            Self::Resume | Self::Play(_) | Self::PlayBelow { .. } => false,
        }
    }

    /// Returns what it means to the pipelines below the run.
    pub(crate) fn of_children(&self) -> Self {
        match self {
            Self::Play(_) => Self::Resume,
            // Only the pipelines of named jobs are looked at.
            Self::RetryJobs(_) => Self::Retry,
            Self::Resume | Self::Retry | Self::PlayBelow { .. } => self.clone(),
        }
    }

    /// Returns what this, meant for all pipelines below a run, means to one of them.
    pub(crate) fn of_pipeline(&self, id: u64) -> Self {
        match self {
            Self::PlayBelow { run, jobs } if *run == id => Self::Play(jobs.clone()),
            Self::PlayBelow { .. } => Self::Resume,
            Self::Resume | Self::Retry | Self::RetryJobs(_) | Self::Play(_) => self.clone(),
        }
    }

    /// Returns the word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Retry | Self::RetryJobs(_) => "retry",
            Self::Play(_) | Self::PlayBelow { .. } => "play",
        }
    }
}
