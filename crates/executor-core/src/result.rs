//! The results of stages and jobs, as data.

use crate::error::{BuildError, FailureReason};
use crate::job::PipelineId;
use crate::products::JobProducts;
use crate::stage::BuildStage;
use crate::stage_status::{ExitCode, StageStatus};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The result of [`Executor::run`](crate::Executor::run) for a stage that ran to its end.
///
/// Values an executor cannot measure are `None`, never estimates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageResult {
    /// The status of the main process.
    pub status: StageStatus,
    /// Whether the kernel killed a process of the stage because it was out of memory.
    pub oom_killed: bool,
    /// The duration of the stage in the environment, as measured by the executor.
    pub duration: Duration,
    /// The number of bytes on standard output.
    pub stdout_bytes: u64,
    /// The number of bytes on standard error.
    pub stderr_bytes: u64,
    /// The stage's CPU time.
    pub cpu_time: Option<Duration>,
    /// The stage's peak memory use in bytes.
    pub peak_memory: Option<u64>,
}

impl StageResult {
    /// Returns a result with this status and no measurements.
    pub fn new(status: StageStatus) -> Self {
        Self {
            status,
            oom_killed: false,
            duration: Duration::ZERO,
            stdout_bytes: 0,
            stderr_bytes: 0,
            cpu_time: None,
            peak_memory: None,
        }
    }

    /// Returns a result with this exit code and no measurements.
    pub fn exited(code: i32) -> Self {
        Self::new(StageStatus::Exited(ExitCode(code)))
    }
}

/// The state of a job, as GitLab Runner names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// The job is assigned but has not started.
    #[default]
    Pending,
    /// The job runs.
    Running,
    /// The job succeeded.
    Success,
    /// The job failed.
    Failed,
    /// The job was cancelled.
    Canceled,
}

impl JobState {
    /// Returns the name of the state.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Returns whether the job has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Canceled)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The report on one stage of a job.
#[derive(Debug, Clone)]
pub struct StageReport {
    /// The stage.
    pub stage: BuildStage,
    /// Whether the stage succeeded.
    pub succeeded: bool,
    /// The duration, including the runner's own part.
    pub duration: Duration,
    /// The executor's result; `None` for a stage that the runner did itself or that ended with an error.
    pub result: Option<StageResult>,
}

/// The size and checksum of a job's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// The size of the visible log in bytes.
    pub bytes: u64,
    /// The CRC-32 (IEEE) of the visible log.
    pub crc32: u32,
    /// Whether the output limit truncated it.
    pub truncated: bool,
}

/// The earlier run whose log and products a skipped job has.
///
/// It is the same job in an earlier pipeline of the project, started with the same inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusedFrom {
    /// The pipeline in which the job ran.
    pub pipeline: PipelineId,
    /// How long the job took there, in milliseconds.
    pub duration_ms: u64,
}

/// The outcome of a job.
#[derive(Debug, Clone)]
pub struct JobOutcome {
    /// `Success`, `Failed` or `Canceled`.
    pub state: JobState,
    /// The error of a job that did not succeed.
    pub error: Option<Arc<BuildError>>,
    /// The stages that ran, in order.
    pub stages: Vec<StageReport>,
    /// The total duration, without the user's visits.
    pub duration: Duration,
    /// The duration of the user's visits, including the wait for them.
    pub visited: Duration,
    /// The size and checksum of its log.
    pub trace: TraceSummary,
    /// The handle of an environment suspended for a later job.
    pub suspended: Option<crate::ability::ResumeHandle>,
    /// Its artifacts, variables and tests.
    pub products: Arc<JobProducts>,
    /// The earlier run this outcome comes from, when the job itself did not run.
    pub reused: Option<ReusedFrom>,
}

impl JobOutcome {
    /// Returns a successful outcome without details.
    pub fn success() -> Self {
        Self {
            state: JobState::Success,
            error: None,
            stages: Vec::new(),
            duration: Duration::ZERO,
            visited: Duration::ZERO,
            trace: TraceSummary::default(),
            suspended: None,
            products: Arc::default(),
            reused: None,
        }
    }

    /// Returns an outcome with this error and no other details.
    pub fn from_error(error: BuildError) -> Self {
        let canceled = error.failure_reason() == FailureReason::JobCanceled;
        Self {
            state: if canceled {
                JobState::Canceled
            } else {
                JobState::Failed
            },
            error: Some(Arc::new(error)),
            ..Self::success()
        }
    }

    /// Returns GitLab's reason for a failure.
    pub fn failure_reason(&self) -> Option<FailureReason> {
        self.error.as_ref().map(|error| error.failure_reason())
    }

    /// Returns the exit code of the script: 0 after success, `None` when the error is not a script's.
    pub fn exit_code(&self) -> Option<ExitCode> {
        match &self.error {
            None => Some(ExitCode::SUCCESS),
            Some(error) => error.exit_code(),
        }
    }
}
