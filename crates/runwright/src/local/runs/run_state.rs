//! Where a run stands.

use super::history::RunHistory;
use super::run_lock::Holder;
use pipeline::Status;
use serde::Serialize;
use std::fmt;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// It lives.
    Running {
        /// Its process, where that is known.
        pid: Option<u32>,
    },
    /// It ended well.
    Success,
    /// It did not.
    Failed,
    /// Somebody stopped it.
    Canceled,
    /// It ended and waits for somebody to play a job.
    Manual,
    /// It had nothing to run.
    Skipped,
    /// Its process died before it could end.
    Killed {
        /// How many jobs had finished.
        finished: usize,
        /// How many there were; 0 when it died before the first could start.
        jobs: usize,
    },
}

impl RunState {
    /// Decides where a run stands by its lock and its journal.
    pub(super) fn decide(holder: Holder, history: &RunHistory) -> Self {
        if let Holder::Run(pid) = holder {
            return Self::Running { pid };
        }
        let Some(end) = &history.end else {
            return Self::Killed {
                finished: history.finished().count(),
                jobs: history.planned().count(),
            };
        };
        match end.status {
            Status::Success => Self::Success,
            Status::Canceled | Status::Canceling => Self::Canceled,
            Status::Manual => Self::Manual,
            Status::Skipped => Self::Skipped,
            // Workers that gave up leave jobs that wait for them.
            _ => Self::Failed,
        }
    }

    /// Returns the word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Manual => "manual",
            Self::Skipped => "skipped",
            Self::Killed { .. } => "killed",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
