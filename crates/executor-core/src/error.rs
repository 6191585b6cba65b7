//! Errors of jobs and providers: their failure reasons, and whether a retry may help.

use crate::cancellation::{CancelCause, Cancellation};
use crate::human_duration::HumanDuration;
use crate::stage_status::ExitCode;
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::iter::successors;
use std::time::Duration;

/// An error of any type, stored as the cause of another.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Whether a retry may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retryability {
    /// A retry may help.
    Temporary,
    /// A retry may help, but all attempts are used up; see [`BuildError::given_up`].
    GivenUp,
    /// A retry fails in the same way.
    Permanent,
}

/// The reason a job failed, as GitLab's API names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureReason {
    /// The user's script failed.
    ScriptFailure,
    /// The runner or a job's environment failed.
    RunnerSystemFailure,
    /// The job took too long.
    JobExecutionTimeout,
    /// An image could not be pulled.
    ImagePullFailure,
    /// The runner does not know the reason.
    UnknownFailure,
    /// The job or the runner's settings are invalid.
    RunnerConfigurationError,
    /// Artifacts of an earlier job no longer exist.
    MissingDependencyFailure,
    /// An external service failed: a registry, a cloud.
    RunnerExternalDependencyFailure,
    /// The runner was stopped.
    RunnerInterrupted,
    /// The job was cancelled; never sent to GitLab.
    JobCanceled,
    /// The job's downstream pipeline could not be created.
    DownstreamPipelineCreationFailed,
    /// The job's downstream pipeline did not succeed. GitLab gives no reason in this case.
    DownstreamPipelineFailed,
    /// The project of the job's downstream pipeline is unknown.
    DownstreamBridgeProjectNotFound,
    /// The job cannot start this pipeline, for example one of its own project.
    InvalidBridgeTrigger,
    /// The job's child pipeline would be nested too deep.
    ReachedMaxDescendantPipelinesDepth,
    /// The first pipeline already has too many downstream pipelines.
    ReachedMaxPipelineHierarchySize,
    /// Pipelines of several projects start each other in a loop.
    PipelineLoopDetected,
}

impl FailureReason {
    /// Returns GitLab's name of the reason.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ScriptFailure => "script_failure",
            Self::RunnerSystemFailure => "runner_system_failure",
            Self::JobExecutionTimeout => "job_execution_timeout",
            Self::ImagePullFailure => "image_pull_failure",
            Self::UnknownFailure => "unknown_failure",
            Self::RunnerConfigurationError => "runner_configuration_error",
            Self::MissingDependencyFailure => "missing_dependency_failure",
            Self::RunnerExternalDependencyFailure => "runner_external_dependency_failure",
            Self::RunnerInterrupted => "runner_interrupted",
            Self::JobCanceled => "job_canceled",
            Self::DownstreamPipelineCreationFailed => "downstream_pipeline_creation_failed",
            Self::DownstreamPipelineFailed => "downstream_pipeline_failed",
            Self::DownstreamBridgeProjectNotFound => "downstream_bridge_project_not_found",
            Self::InvalidBridgeTrigger => "invalid_bridge_trigger",
            Self::ReachedMaxDescendantPipelinesDepth => "reached_max_descendant_pipelines_depth",
            Self::ReachedMaxPipelineHierarchySize => "reached_max_pipeline_hierarchy_size",
            Self::PipelineLoopDetected => "pipeline_loop_detected",
        }
    }
}

impl fmt::Display for FailureReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of a job or of a part of it.
///
/// [`failure_reason`](Self::failure_reason) tells whose fault it is, [`is_temporary`](Self::is_temporary)
/// whether a retry may help. A failing script is not an error of [`Executor::run`], which returns its
/// status. The job runner creates `Script` from that status.
///
/// [`Executor::run`]: crate::Executor::run
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The user's script failed.
    #[error("script exited with code {exit_code}")]
    Script {
        /// The script's exit code.
        exit_code: ExitCode,
    },
    /// A report of the job is invalid. GitLab fails the job as if its script had failed.
    #[error("{message}")]
    Report {
        /// The report, the position in it and the problem.
        message: String,
    },
    /// The executor's back end or the runner itself failed.
    #[error("{backend}: {message}")]
    System {
        /// The part that failed: `shell`, `docker`.
        backend: &'static str,
        /// What was attempted.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
        /// Whether a retry may help.
        retry: Retryability,
    },
    /// The job or the runner's settings are invalid.
    #[error("{message}")]
    Config {
        /// The problem and its setting.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
    },
    /// An image could not be pulled.
    #[error("pull image {image}")]
    ImagePull {
        /// The image.
        image: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
        /// Whether a retry may help.
        retry: Retryability,
    },
    /// An external service failed.
    #[error("{message}")]
    ExternalDependency {
        /// What was attempted.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
        /// Whether a retry may help.
        retry: Retryability,
    },
    /// A phase of the job took too long.
    #[error("{phase} took longer than {}", HumanDuration(*limit))]
    Timeout {
        /// The phase: `execution`, `prepare`, `get_sources`.
        phase: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The job was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
    /// Artifacts of earlier jobs no longer exist. The message is GitLab's.
    #[error("this job depends on other jobs with expired/erased artifacts: {jobs}")]
    MissingDependency {
        /// The names of those jobs.
        jobs: String,
    },
    /// The job failed with an error that is only text: one that an earlier process recorded, one that another program
    /// reports, or one whose secrets are masked.
    #[error("{message}")]
    Recorded {
        /// GitLab's reason.
        reason: FailureReason,
        /// The exit code, when a script decided.
        exit_code: Option<ExitCode>,
        /// The problem.
        message: String,
    },
    /// The job's downstream pipeline could not be created.
    #[error("{message}")]
    Downstream {
        /// GitLab's reason.
        reason: FailureReason,
        /// The problem.
        message: String,
    },
}

impl BuildError {
    /// Returns a temporary failure of `backend`: a retry may help.
    pub fn system(
        backend: &'static str,
        message: impl Into<String>,
        source: impl Into<BoxError>,
    ) -> Self {
        Self::System {
            backend,
            message: message.into(),
            source: Some(source.into()),
            retry: Retryability::Temporary,
        }
    }

    /// Returns a configuration error without a source error.
    pub fn config(message: impl Into<String>) -> Self {
        Self::Config {
            message: message.into(),
            source: None,
        }
    }

    /// Returns the error of an executor that is used before `prepare`: a fault of its caller.
    pub fn not_prepared(backend: &'static str) -> Self {
        Self::System {
            backend,
            message: "the executor is used before it is prepared".to_owned(),
            source: None,
            retry: Retryability::Permanent,
        }
    }

    /// Returns the error of work of `backend` that ended because of a stop.
    ///
    /// Work that says so although `cancellation` was never used is a fault of `backend`, and a system error.
    pub fn stopped(backend: &'static str, cancellation: &Cancellation) -> Self {
        cancellation.cause().map_or_else(
            || Self::System {
                backend,
                message: "the work was stopped without a request".to_owned(),
                source: None,
                retry: Retryability::Permanent,
            },
            Self::Canceled,
        )
    }

    /// Returns the failure reason for GitLab.
    pub fn failure_reason(&self) -> FailureReason {
        match self {
            Self::Script { .. } | Self::Report { .. } => FailureReason::ScriptFailure,
            Self::System { .. } | Self::Canceled(CancelCause::EnvironmentLost) => {
                FailureReason::RunnerSystemFailure
            }
            Self::Config { .. } => FailureReason::RunnerConfigurationError,
            Self::ImagePull { .. } => FailureReason::ImagePullFailure,
            Self::ExternalDependency { .. } => FailureReason::RunnerExternalDependencyFailure,
            Self::MissingDependency { .. } => FailureReason::MissingDependencyFailure,
            Self::Timeout { .. } | Self::Canceled(CancelCause::Timeout) => {
                FailureReason::JobExecutionTimeout
            }
            Self::Canceled(CancelCause::Shutdown) => FailureReason::RunnerInterrupted,
            Self::Canceled(_) => FailureReason::JobCanceled,
            Self::Recorded { reason, .. } | Self::Downstream { reason, .. } => *reason,
        }
    }

    /// Returns whether a retry may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::System { retry, .. }
            | Self::ImagePull { retry, .. }
            | Self::ExternalDependency { retry, .. } => *retry == Retryability::Temporary,
            Self::Script { .. }
            | Self::Report { .. }
            | Self::Config { .. }
            | Self::Timeout { .. }
            | Self::Canceled(_)
            | Self::MissingDependency { .. }
            | Self::Recorded { .. }
            | Self::Downstream { .. } => false,
        }
    }

    /// Returns the error after the last attempt.
    ///
    /// It is no longer temporary, so an outer layer does not retry too: nested retries would multiply.
    /// All else is unchanged, including its failure reason.
    pub fn given_up(mut self) -> Self {
        if let Self::System { retry, .. }
        | Self::ImagePull { retry, .. }
        | Self::ExternalDependency { retry, .. } = &mut self
            && *retry == Retryability::Temporary
        {
            *retry = Retryability::GivenUp;
        }
        self
    }

    /// Returns the exit code of a failed script; 1 for an invalid report.
    pub fn exit_code(&self) -> Option<ExitCode> {
        match self {
            Self::Script { exit_code } => Some(*exit_code),
            // GitLab Runner uploads reports in a script, which exits with 1 when a report is invalid.
            Self::Report { .. } => Some(ExitCode(1)),
            Self::Recorded { exit_code, .. } => *exit_code,
            _ => None,
        }
    }

    /// Returns the message and all its causes in one line; see [`chain`].
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// Returns an error's message and those of all its causes in one line, the cause last, and after them the advice of
/// [`limit_hint`].
///
/// # Examples
///
/// ```
/// use executor_core::{BuildError, chain};
///
/// let error = BuildError::system("shell", "make directory /builds", "the disk is full");
/// assert_eq!(chain(&error), "shell: make directory /builds: the disk is full");
/// ```
pub fn chain(error: &(dyn StdError + 'static)) -> String {
    let causes = successors(Some(error), |&error| error.source());
    let texts: Vec<_> = causes.map(ToString::to_string).collect();
    let mut text = texts.join(": ");
    if let Some(hint) = limit_hint(error) {
        text.push_str("; ");
        text.push_str(hint);
    }
    text
}

/// Advice for a process or thread that the system does not create.
const PROCESS_LIMIT_HINT: &str =
    "the limit on processes and threads may be reached: see `ulimit -u`";

/// Advice for a file that the system does not open.
const FILE_LIMIT_HINT: &str =
    "the limit on open files is reached: raise it with `ulimit -n`, or run fewer jobs at once";

/// The numbers of `ENFILE` and `EMFILE`, for which the standard library has no kind.
const TOO_MANY_FILES: [i32; 2] = [23, 24];

/// Returns advice for an error that a limit of the system on processes, threads or open files has caused.
pub fn limit_hint(error: &(dyn StdError + 'static)) -> Option<&'static str> {
    successors(Some(error), |&error| error.source()).find_map(|error| {
        let error = error.downcast_ref::<io::Error>()?;
        let number = error.raw_os_error()?;
        if TOO_MANY_FILES.contains(&number) {
            return Some(FILE_LIMIT_HINT);
        }
        (error.kind() == io::ErrorKind::WouldBlock).then_some(PROCESS_LIMIT_HINT)
    })
}

impl From<CancelCause> for BuildError {
    fn from(cause: CancelCause) -> Self {
        Self::Canceled(cause)
    }
}

/// The error of acquiring capacity.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// All capacity is in use; a later request may succeed. The worker requests no job meanwhile.
    #[error("no free executor")]
    NoFreeExecutor,
    /// The request was cancelled.
    #[error("canceled {0}")]
    Canceled(CancelCause),
    /// The provider is broken.
    #[error("acquire an executor")]
    Provider(#[source] BoxError),
}

impl From<CancelCause> for AcquireError {
    fn from(cause: CancelCause) -> Self {
        Self::Canceled(cause)
    }
}

/// The error of a provider that cannot be used at all.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// The problem.
    pub message: String,
    /// The cause.
    #[source]
    pub source: Option<BoxError>,
}

impl ProviderError {
    /// Returns an error without a source error.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_shows_its_limit() {
        let error = BuildError::Timeout {
            phase: "execution",
            limit: Duration::from_mins(90),
        };
        assert_eq!(error.to_string(), "execution took longer than 1h 30m");
    }

    #[test]
    fn failure_reason_follows_from_the_variant() {
        let disk = io::Error::other("disk is gone");
        let error = BuildError::system("shell", "create builds directory", disk);
        assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
        assert!(error.is_temporary());
        assert_eq!(
            error.chain(),
            "shell: create builds directory: disk is gone"
        );

        let error = error.given_up();
        assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
        assert!(!error.is_temporary(), "all attempts are used up");

        let error = BuildError::config("no such user").given_up();
        assert_eq!(
            error.failure_reason(),
            FailureReason::RunnerConfigurationError
        );
        assert!(!error.is_temporary());

        let error = BuildError::Canceled(CancelCause::User);
        assert_eq!(error.failure_reason(), FailureReason::JobCanceled);

        let job = Cancellation::new();
        let error = BuildError::stopped("test", &job);
        assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
        job.cancel(CancelCause::Timeout);
        let error = BuildError::stopped("test", &job);
        assert_eq!(error.failure_reason(), FailureReason::JobExecutionTimeout);
    }
}
