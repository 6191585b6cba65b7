//! How a stage and a job ended, as data.

use crate::error::{BuildError, FailureReason};
use crate::job::PipelineId;
use crate::products::JobProducts;
use crate::stage::BuildStage;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The number a process ended with.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ExitCode(pub i32);

impl ExitCode {
    /// Success.
    pub const SUCCESS: Self = Self(0);

    /// Returns whether it means success.
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How the main process of a stage ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StageStatus {
    /// It ended by itself with this code.
    Exited(ExitCode),
    /// A signal ended it.
    Signaled {
        /// The signal's number.
        signal: i32,
    },
}

impl StageStatus {
    /// Returns whether the stage succeeded.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Exited(code) if code.is_success())
    }

    /// Returns the code a shell would show: 128 and the number for a signal.
    pub const fn exit_code(self) -> ExitCode {
        match self {
            Self::Exited(code) => code,
            Self::Signaled { signal } => ExitCode(128 + signal),
        }
    }
}

impl fmt::Display for StageStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signaled { signal } => write!(f, "signal {signal}"),
        }
    }
}

/// What [`Executor::run`](crate::Executor::run) knows of a stage that ran to its end.
///
/// Numbers an executor cannot know are `None`, never guessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageResult {
    /// How the main process ended.
    pub status: StageStatus,
    /// Whether the kernel killed something in the stage for lack of memory.
    pub oom_killed: bool,
    /// How long the stage took, in the environment, as far as the executor can tell.
    pub duration: Duration,
    /// How many bytes came over standard output.
    pub stdout_bytes: u64,
    /// How many bytes came over standard error.
    pub stderr_bytes: u64,
    /// The processor time the stage used.
    pub cpu_time: Option<Duration>,
    /// The most memory it held, in bytes.
    pub peak_memory: Option<u64>,
}

impl StageResult {
    /// Returns the result of a stage that ended in this way and of which no more is known.
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

    /// Returns the result of a stage that ended with this exit code.
    pub fn exited(code: i32) -> Self {
        Self::new(StageStatus::Exited(ExitCode(code)))
    }
}

/// Where a job stands, in the words of GitLab Runner.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It was handed out and has not begun.
    #[default]
    Pending,
    /// It runs.
    Running,
    /// It ended well.
    Success,
    /// It did not.
    Failed,
    /// Somebody stopped it.
    Canceled,
}

impl JobState {
    /// Returns the word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Returns whether nothing will change any more.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Canceled)
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How one stage of a job went.
#[derive(Debug, Clone)]
pub struct StageReport {
    /// The stage.
    pub stage: BuildStage,
    /// Whether it succeeded.
    pub succeeded: bool,
    /// How long it took, with the runner's own part.
    pub duration: Duration,
    /// What the executor measured; `None` for a stage the runner did itself or that broke down.
    pub result: Option<StageResult>,
}

/// What is known of a job's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceSummary {
    /// How many bytes the visible log has.
    pub bytes: u64,
    /// The CRC-32 (IEEE) of the visible log.
    pub crc32: u32,
    /// Whether the output limit cut it.
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

/// How a job ended.
#[derive(Debug, Clone)]
pub struct JobOutcome {
    /// `Success`, `Failed` or `Canceled`.
    pub state: JobState,
    /// Why it did not succeed.
    pub error: Option<Arc<BuildError>>,
    /// The stages that ran, in order.
    pub stages: Vec<StageReport>,
    /// How long it took in all, without what somebody spent in it.
    pub duration: Duration,
    /// How long somebody was in it, or waited to be.
    pub visited: Duration,
    /// Its log.
    pub trace: TraceSummary,
    /// The handle of an environment that was kept for a later job.
    pub suspended: Option<crate::ability::ResumeHandle>,
    /// What it left.
    pub products: Arc<JobProducts>,
    /// Where its end comes from, when it did not run.
    pub reused: Option<ReusedFrom>,
}

impl JobOutcome {
    /// Returns the outcome of a job that ended well and of which no more is known.
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

    /// Returns the outcome of a job that ended with this error.
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

    /// Returns why it did not succeed, in GitLab's words.
    pub fn failure_reason(&self) -> Option<FailureReason> {
        self.error.as_ref().map(|error| error.failure_reason())
    }

    /// Returns the exit code of the script: 0 after success, `None` when no script decided.
    pub fn exit_code(&self) -> Option<ExitCode> {
        match &self.error {
            None => Some(ExitCode::SUCCESS),
            Some(error) => error.exit_code(),
        }
    }
}
