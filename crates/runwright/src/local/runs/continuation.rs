//! Going on with an earlier run.

use serde::{Deserialize, Serialize};

/// An earlier run that is gone on with, in its own directory and under its own number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation {
    /// The run.
    pub run: u64,
    /// What of it is run.
    pub kind: ContinuationKind,
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
    /// Returns what it means to the pipelines below the run.
    pub(in crate::local) fn of_children(&self) -> Self {
        match self {
            Self::Play(_) => Self::Resume,
            Self::Resume | Self::Retry | Self::PlayBelow { .. } => self.clone(),
        }
    }

    /// Returns what this, meant for all pipelines below a run, means to one of them.
    pub(in crate::local) fn of_pipeline(&self, id: u64) -> Self {
        match self {
            Self::PlayBelow { run, jobs } if *run == id => Self::Play(jobs.clone()),
            Self::PlayBelow { .. } => Self::Resume,
            Self::Resume | Self::Retry | Self::Play(_) => self.clone(),
        }
    }

    /// Returns the word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Retry => "retry",
            Self::Play(_) | Self::PlayBelow { .. } => "play",
        }
    }
}
