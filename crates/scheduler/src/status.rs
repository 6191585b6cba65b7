use serde::{Deserialize, Serialize};
use std::fmt;

/// The status of a job, a stage or a pipeline, as GitLab names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits for other jobs.
    Created,
    /// It waits for its resource group.
    WaitingForResource,
    /// It waits for a worker.
    Pending,
    /// It runs.
    Running,
    /// It succeeded.
    Success,
    /// It failed.
    Failed,
    /// It runs and is being stopped.
    Canceling,
    /// It was stopped, or canceled before it ran.
    Canceled,
    /// It will not run.
    Skipped,
    /// It waits for the user to start it.
    Manual,
    /// It waits for its delay to end.
    Scheduled,
}

impl Status {
    /// Returns the name in GitLab.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::WaitingForResource => "waiting_for_resource",
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceling => "canceling",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::Manual => "manual",
            Self::Scheduled => "scheduled",
        }
    }

    /// Returns whether the status is the last one, unless the user runs the job again.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Success | Self::Failed | Self::Canceled | Self::Skipped
        )
    }

    /// Returns whether a job in this status can be run again: it has ended, and was not skipped.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Canceled)
    }

    /// Returns the status after a cancel; `None` if a cancel has no effect.
    pub(crate) const fn when_canceled(self) -> Option<Self> {
        match self {
            Self::Running => Some(Self::Canceling),
            Self::Created
            | Self::WaitingForResource
            | Self::Pending
            | Self::Manual
            | Self::Scheduled => Some(Self::Canceled),
            Self::Success | Self::Failed | Self::Canceling | Self::Canceled | Self::Skipped => None,
        }
    }

    /// Returns whether the job runs, or will run without the user.
    pub const fn is_active(self) -> bool {
        matches!(
            self,
            Self::WaitingForResource
                | Self::Pending
                | Self::Running
                | Self::Canceling
                | Self::Scheduled
        )
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A new status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusChange {
    /// The job's index in the plan.
    pub job: usize,
    /// Its new status.
    pub status: Status,
    /// The number of its attempt, from 1.
    pub attempt: u32,
}
