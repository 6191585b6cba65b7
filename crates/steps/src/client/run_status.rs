use super::run_id::RunId;
use super::run_result::RunResult;
use std::time::SystemTime;

/// What the service knows of a request now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatus {
    /// The request.
    pub id: RunId,
    /// Where it stands.
    pub state: RunState,
    /// What more there is to say, such as why it broke.
    pub message: String,
    /// When it was started.
    pub started: Option<SystemTime>,
    /// When it ended.
    pub ended: Option<SystemTime>,
    /// How it ended; `None` while it runs.
    pub result: Option<RunResult>,
}

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// It runs, or is about to.
    Running,
    /// All its scripts succeeded.
    Success,
    /// A script failed.
    Failure,
    /// Somebody stopped it.
    Canceled,
    /// It took longer than it may.
    TimedOut,
    /// A script could not be started: there is no such shell or directory.
    NotStarted,
    /// The service could not run it, or not to its end.
    Broken,
}

impl RunState {
    /// Returns whether nothing will change any more.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running)
    }
}
