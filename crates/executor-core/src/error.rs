//! What can go wrong with a job, whose fault it is, and whether trying again helps.

use crate::cancellation::CancelCause;
use crate::human_duration::HumanDuration;
use crate::result::ExitCode;
use serde::{Deserialize, Serialize};
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// An error from below, kept as the cause of one of ours.
pub type BoxError = Box<dyn StdError + Send + Sync>;

/// Whether trying the same again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retryability {
    /// It may.
    Temporary,
    /// It may, but it has been tried as often as somebody wanted; see [`BuildError::given_up`].
    GivenUp,
    /// It will fail in the same way.
    Permanent,
}

/// Why a job did not succeed, in the words of GitLab's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureReason {
    /// The user's script failed.
    ScriptFailure,
    /// The runner or the place it runs jobs in failed.
    RunnerSystemFailure,
    /// The job took too long.
    JobExecutionTimeout,
    /// An image could not be had.
    ImagePullFailure,
    /// The runner cannot say.
    UnknownFailure,
    /// What the job or the runner's settings ask for cannot be.
    RunnerConfigurationError,
    /// What an earlier job left for this one is there no more.
    MissingDependencyFailure,
    /// Something the runner depends on failed: a registry, a cloud.
    RunnerExternalDependencyFailure,
    /// The runner was stopped.
    RunnerInterrupted,
    /// The job was cancelled; never sent as such.
    JobCanceled,
    /// The pipeline that the job starts could not be created.
    DownstreamPipelineCreationFailed,
    /// The pipeline that the job started did not succeed. GitLab gives no reason then.
    DownstreamPipelineFailed,
    /// The project whose pipeline the job starts is not known.
    DownstreamBridgeProjectNotFound,
    /// The job starts a pipeline that it cannot start, such as that of its own project.
    InvalidBridgeTrigger,
    /// The job would start a child pipeline too far below the first pipeline.
    ReachedMaxDescendantPipelinesDepth,
    /// There are too many pipelines below the first one already.
    ReachedMaxPipelineHierarchySize,
    /// Pipelines of several projects start each other in a circle.
    PipelineLoopDetected,
}

impl FailureReason {
    /// Returns GitLab's word.
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

/// Why a job, or a part of it, did not do what it should.
///
/// [`failure_reason`](Self::failure_reason) says whose fault it is, [`is_temporary`](Self::is_temporary)
/// whether trying again may help. A failing script is not an error of [`Executor::run`]: that returns
/// its status. `Script` is how the job runner words it in the end.
///
/// [`Executor::run`]: crate::Executor::run
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The user's script failed.
    #[error("script exited with code {exit_code}")]
    Script {
        /// The code it ended with.
        exit_code: ExitCode,
    },
    /// A report that the job left is refused. GitLab lets the job fail as if its script had.
    #[error("{message}")]
    Report {
        /// Which one, where, and what is wrong with it.
        message: String,
    },
    /// The executor's back end, or the runner itself, failed.
    #[error("{backend}: {message}")]
    System {
        /// The part that failed: `shell`, `docker`.
        backend: &'static str,
        /// What was attempted.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
        /// Whether trying again may help.
        retry: Retryability,
    },
    /// What the job or the runner's settings ask for cannot be.
    #[error("{message}")]
    Config {
        /// What is wrong, and with which setting.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
    },
    /// An image could not be had.
    #[error("pull image {image}")]
    ImagePull {
        /// The image.
        image: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
        /// Whether trying again may help.
        retry: Retryability,
    },
    /// Something outside that the runner depends on failed.
    #[error("{message}")]
    ExternalDependency {
        /// What was attempted.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
        /// Whether trying again may help.
        retry: Retryability,
    },
    /// It took too long.
    #[error("{phase} took longer than {}", HumanDuration(*limit))]
    Timeout {
        /// What took too long: `execution`, `prepare`, `get_sources`.
        phase: &'static str,
        /// How long it could have taken.
        limit: Duration,
    },
    /// It was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
    /// Earlier jobs left artifacts for it that are there no more. The words are GitLab's.
    #[error("this job depends on other jobs with expired/erased artifacts: {jobs}")]
    MissingDependency {
        /// Their names.
        jobs: String,
    },
    /// The pipeline that it starts could not be created.
    #[error("{message}")]
    Downstream {
        /// Why, in GitLab's words.
        reason: FailureReason,
        /// Why.
        message: String,
    },
}

impl BuildError {
    /// Returns a temporary failure of `backend`: trying again may help.
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

    /// Returns a configuration error without a cause of its own.
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

    /// Returns whose fault it is, in GitLab's words.
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
            Self::Downstream { reason, .. } => *reason,
        }
    }

    /// Returns whether trying the same again may help.
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
            | Self::Downstream { .. } => false,
        }
    }

    /// Returns the error of somebody who has tried again and gives up.
    ///
    /// It is no longer temporary, so that whoever stands further out does not try all of it once
    /// more: retries at two heights would multiply. All else stays, its class included.
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

    /// Returns the script's exit code, when that is what failed, or the one that counts as such.
    pub fn exit_code(&self) -> Option<ExitCode> {
        match self {
            Self::Script { exit_code } => Some(*exit_code),
            // The runner uploads reports by a script, which ends so when one is refused.
            Self::Report { .. } => Some(ExitCode(1)),
            _ => None,
        }
    }

    /// Returns the message and all its causes in one line; see [`chain`].
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// Returns an error's message and those of all its causes in one line, the cause last.
///
/// # Examples
///
/// ```
/// use executor_core::{BuildError, chain};
///
/// let error = BuildError::system("shell", "make directory /builds", "the disk is full");
/// assert_eq!(chain(&error), "shell: make directory /builds: the disk is full");
/// ```
pub fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Why no capacity could be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// All of it is in use; asking later may help. No job is asked for meanwhile.
    #[error("no free executor")]
    NoFreeExecutor,
    /// The request was withdrawn.
    #[error("canceled {0}")]
    Canceled(CancelCause),
    /// The provider is broken.
    #[error("acquire an executor")]
    Provider(#[source] BoxError),
}

/// Why a provider cannot be used at all.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What is missing or wrong.
    pub message: String,
    /// The cause.
    #[source]
    pub source: Option<BoxError>,
}

impl ProviderError {
    /// Returns an error without a cause of its own.
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
    fn a_timeout_says_how_long_it_was() {
        let error = BuildError::Timeout {
            phase: "execution",
            limit: Duration::from_mins(90),
        };
        assert_eq!(error.to_string(), "execution took longer than 1h 30m");
    }

    #[test]
    fn the_fault_follows_from_the_kind_of_error() {
        let disk = std::io::Error::other("disk is gone");
        let error = BuildError::system("shell", "create builds directory", disk);
        assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
        assert!(error.is_temporary());
        assert_eq!(
            error.chain(),
            "shell: create builds directory: disk is gone"
        );

        let error = error.given_up();
        assert_eq!(error.failure_reason(), FailureReason::RunnerSystemFailure);
        assert!(!error.is_temporary(), "it was tried often enough");

        let error = BuildError::config("no such user").given_up();
        assert_eq!(
            error.failure_reason(),
            FailureReason::RunnerConfigurationError
        );
        assert!(!error.is_temporary());

        let error = BuildError::Canceled(CancelCause::User);
        assert_eq!(error.failure_reason(), FailureReason::JobCanceled);
    }
}
