use executor_core::{StageResult, StageStatus};
use std::fmt;
use std::time::Duration;
use std::time::SystemTime;

/// The id of a request. It permits following, stopping and finishing the request.
///
/// A second request with the same id starts nothing. So an id is unique in its environment and reproducible after a
/// crash, for example from the job, its attempt and the number of the stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

impl RunId {
    /// Returns the id with this text.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The current status of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatus {
    /// The id of the request.
    pub id: RunId,
    /// The state.
    pub state: RunState,
    /// Details, such as why it failed.
    pub message: String,
    /// The start time.
    pub started: Option<SystemTime>,
    /// The end time.
    pub ended: Option<SystemTime>,
    /// The result; `None` while it runs.
    pub result: Option<RunResult>,
}

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// It runs, or is about to run.
    Running,
    /// All steps succeeded.
    Success,
    /// A step failed.
    Failure,
    /// It was stopped.
    Canceled,
    /// It reached its time limit.
    TimedOut,
    /// A script could not be started, for example without such a shell or directory.
    NotStarted,
    /// The service could not run it, or not to its end.
    Broken,
}

impl RunState {
    /// Returns whether the state is final.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running)
    }
}

/// The result of a request, as measured by the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// How the last script ended.
    pub status: StageStatus,
    /// Whether the kernel killed one of its processes for lack of memory.
    pub oom_killed: bool,
    /// The time from the start of the first script to the end of the last.
    pub duration: Duration,
    /// The processor time of all processes.
    pub cpu_time: Option<Duration>,
    /// The peak memory in bytes.
    pub peak_memory: Option<u64>,
    /// The number of bytes written to standard output.
    pub stdout_bytes: u64,
    /// The number of bytes written to standard error.
    pub stderr_bytes: u64,
    /// The length of the log with its timestamps.
    pub log_bytes: u64,
    /// Why the log is incomplete, for example because the disk was full.
    pub log_error: Option<String>,
}

impl From<RunResult> for StageResult {
    fn from(result: RunResult) -> Self {
        Self {
            status: result.status,
            oom_killed: result.oom_killed,
            duration: result.duration,
            stdout_bytes: result.stdout_bytes,
            stderr_bytes: result.stderr_bytes,
            cpu_time: result.cpu_time,
            peak_memory: result.peak_memory,
        }
    }
}

/// Describes a running agent and its environment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentInfo {
    /// The version of the agent.
    pub version: String,
    /// Its process id inside the environment.
    pub pid: u32,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
    /// The home directory of that user.
    pub home: String,
    /// The paths of the available shells, preferred ones first.
    pub shells: Vec<String>,
    /// A random id, new at each start of the agent. Another one means that earlier requests are lost.
    pub instance: String,
}
