use executor_core::{StageResult, StageStatus};
use std::time::Duration;

/// How a request ended, as the service measured it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// How the last script that ran ended.
    pub status: StageStatus,
    /// Whether the kernel killed something in it for lack of memory.
    pub oom_killed: bool,
    /// From the start of the first script to the end of the last.
    pub duration: Duration,
    /// The processor time of all of it.
    pub cpu_time: Option<Duration>,
    /// The most memory it held, in bytes.
    pub peak_memory: Option<u64>,
    /// How many bytes the scripts wrote to standard output.
    pub stdout_bytes: u64,
    /// How many bytes they wrote to standard error.
    pub stderr_bytes: u64,
    /// How long the log is, with its stamps.
    pub log_bytes: u64,
    /// Why the log is not complete, if it is not: the service had no room for it.
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
