use executor_core::{BoxError, BuildError, CancelCause, HumanDuration, Retryability};
use std::time::Duration;

/// The part that failed, in the messages of [`BuildError`].
const BACKEND: &str = "steps";

/// Why a request to the service failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepsError {
    /// No connection could be made.
    #[error(
        "no step-runner service answers in the environment; runwright-agent must exist there and be started \
         (`runwright-agent serve`)"
    )]
    Unreachable {
        /// The error of the last attempt.
        #[source]
        source: BoxError,
        /// Whether the connector says that another attempt cannot succeed.
        permanent: bool,
    },
    /// The connection broke, and could not be restored in time.
    #[error("the step-runner service has been gone for {}", HumanDuration(*since))]
    Lost {
        /// The time since the connection broke.
        since: Duration,
        /// The error of the last attempt.
        #[source]
        source: BoxError,
    },
    /// The service does not know the request: it was restarted, or has pruned it.
    #[error("the step-runner service no longer knows the request {id}")]
    Forgotten {
        /// The request.
        id: String,
    },
    /// The service refused the request.
    #[error("the step-runner service refuses: {message}")]
    Refused {
        /// The reason.
        message: String,
    },
    /// The service failed, or sent an invalid answer.
    #[error("the step-runner service failed: {message}")]
    Internal {
        /// The details.
        message: String,
    },
    /// The request reached its time limit.
    #[error("the steps took longer than {}", HumanDuration(*limit))]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
    /// The request was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
}

/// The class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepsErrorClass {
    /// The service does not exist, or not any more.
    Lost,
    /// The service refused.
    Refused,
    /// The service failed.
    Internal,
    /// The request was stopped, or reached its time limit.
    Canceled,
}

impl StepsError {
    /// Returns the class of the error.
    pub const fn class(&self) -> StepsErrorClass {
        match self {
            Self::Unreachable { .. } | Self::Lost { .. } | Self::Forgotten { .. } => {
                StepsErrorClass::Lost
            }
            Self::Refused { .. } => StepsErrorClass::Refused,
            Self::Internal { .. } => StepsErrorClass::Internal,
            Self::TimedOut { .. } | Self::Canceled(_) => StepsErrorClass::Canceled,
        }
    }
}

impl From<StepsError> for BuildError {
    /// A lost request is not retriable: its script may have run, and would run twice.
    fn from(error: StepsError) -> Self {
        let message = error.to_string();
        match error {
            StepsError::Unreachable { source, permanent } => Self::System {
                backend: BACKEND,
                message,
                source: Some(source),
                retry: if permanent {
                    Retryability::Permanent
                } else {
                    Retryability::Temporary
                },
            },
            StepsError::Lost { .. } | StepsError::Forgotten { .. } => {
                Self::Canceled(CancelCause::EnvironmentLost)
            }
            StepsError::Refused { .. } => Self::config(message),
            StepsError::Internal { .. } => Self::System {
                backend: BACKEND,
                message,
                source: None,
                retry: Retryability::Permanent,
            },
            StepsError::TimedOut { limit } => Self::Timeout {
                phase: "execution",
                limit,
            },
            StepsError::Canceled(cause) => Self::Canceled(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::FailureReason;

    #[test]
    fn each_class_maps_to_a_build_error() {
        let check = |error: StepsError, class, reason, temporary| {
            assert_eq!(error.class(), class);
            let error = BuildError::from(error);
            assert_eq!(error.failure_reason(), reason, "{error}");
            assert_eq!(error.is_temporary(), temporary, "{error}");
        };
        let unreachable = |permanent| StepsError::Unreachable {
            source: "connection refused".into(),
            permanent,
        };
        let lost = StepsError::Lost {
            since: Duration::from_secs(30),
            source: "broken pipe".into(),
        };
        let system = FailureReason::RunnerSystemFailure;
        check(unreachable(false), StepsErrorClass::Lost, system, true);
        check(unreachable(true), StepsErrorClass::Lost, system, false);
        check(lost, StepsErrorClass::Lost, system, false);
        let message = String::from("no such shell");
        let refused = StepsError::Refused {
            message: message.clone(),
        };
        let config = FailureReason::RunnerConfigurationError;
        check(refused, StepsErrorClass::Refused, config, false);
        let internal = StepsError::Internal { message };
        check(internal, StepsErrorClass::Internal, system, false);
        let canceled = StepsError::Canceled(CancelCause::User);
        let reason = FailureReason::JobCanceled;
        check(canceled, StepsErrorClass::Canceled, reason, false);
    }
}
