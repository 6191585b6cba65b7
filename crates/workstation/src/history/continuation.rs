use executor_core::variable::JobVariable;
use scheduler::Status;
use serde::{Deserialize, Serialize};

/// An earlier run to continue, in its directory and under its number.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    /// The run.
    pub run: u64,
    /// What of it runs.
    pub kind: ContinuationKind,
    /// Additional variables of the jobs that are played.
    pub variables: Vec<JobVariable>,
}

/// What of an earlier run runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContinuationKind {
    /// The jobs that had not finished: they never started, ran when the process died, or were canceled.
    Resume,
    /// These, and the failed ones with all that were skipped because of them.
    Retry,
    /// As [`Resume`](Self::Resume), and these jobs run again, however they ended. Skipped jobs are decided
    /// again; other failed jobs stay as they are.
    RetryJobs(Vec<String>),
    /// As [`Resume`](Self::Resume), and these manual jobs are played.
    Play(Vec<String>),
    /// As [`Resume`](Self::Resume), and manual jobs of a downstream pipeline are played.
    PlayBelow {
        /// That pipeline.
        run: u64,
        /// The jobs.
        jobs: Vec<String>,
    },
}

impl ContinuationKind {
    /// Returns whether a job that ended with this status should run again.
    pub(super) fn wants_again(&self, job: &str, status: Status) -> bool {
        match self {
            Self::Retry => status == Status::Failed,
            Self::RetryJobs(jobs) => jobs.iter().any(|it| it == job),
            Self::Resume | Self::Play(_) | Self::PlayBelow { .. } => false,
        }
    }

    /// Returns the kind for the downstream pipelines of the run.
    pub(crate) fn of_children(&self) -> Self {
        match self {
            Self::Play(_) => Self::Resume,
            // Only the pipelines of these jobs are continued.
            Self::RetryJobs(_) => Self::Retry,
            Self::Resume | Self::Retry | Self::PlayBelow { .. } => self.clone(),
        }
    }

    /// Returns the kind for one of a run's downstream pipelines, from the kind for all.
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
