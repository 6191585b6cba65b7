use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a job, a stage or a pipeline stands, in GitLab's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits for others.
    Created,
    /// It waits for its resource group.
    WaitingForResource,
    /// It could start and waits for a worker.
    Pending,
    /// It runs.
    Running,
    /// It ended well.
    Success,
    /// It did not.
    Failed,
    /// It runs, but was told to stop.
    Canceling,
    /// It was stopped, or was told to before it ran.
    Canceled,
    /// It will not run.
    Skipped,
    /// It waits for somebody to start it.
    Manual,
    /// It waits for its delay to pass.
    Scheduled,
}

impl Status {
    /// Returns GitLab's word.
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

    /// Returns whether it changes no more by itself.
    pub const fn is_final(self) -> bool {
        matches!(
            self,
            Self::Success | Self::Failed | Self::Canceled | Self::Skipped
        )
    }

    /// Returns whether a job can be run again that stands here: it has ended, and was not skipped.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Canceled)
    }

    /// Returns what it becomes when somebody cancels it, if that means anything.
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

    /// Returns whether something goes on: it runs, or will without anybody's help.
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
