use executor_core::{BoxError, BuildError, CancelCause, HumanDuration, Retryability};
use std::time::Duration;

/// The part that failed, in the messages of [`BuildError`].
const BACKEND: &str = "steps";

/// Why something could not be done through the service.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepsError {
    /// No connection was had at all.
    #[error(
        "no step-runner service answers in the environment; runwright-agent must be there and be started \
         (`runwright-agent serve`)"
    )]
    Unreachable {
        /// Why the last attempt failed.
        #[source]
        source: BoxError,
        /// Whether the way to the service says that it is in vain to try again.
        permanent: bool,
    },
    /// The service was there, and has been gone for too long.
    #[error("the step-runner service is gone for {}", HumanDuration(*since))]
    Lost {
        /// For how long.
        since: Duration,
        /// Why the last attempt failed.
        #[source]
        source: BoxError,
    },
    /// The service lives and does not know the request: it was started anew, or has pruned it.
    #[error("the step-runner service does not know the request {id} any more")]
    Forgotten {
        /// The request.
        id: String,
    },
    /// The service refuses what it was asked for.
    #[error("the step-runner service refuses: {message}")]
    Refused {
        /// What is wrong with it.
        message: String,
    },
    /// The service broke down, or answered what makes no sense.
    #[error("the step-runner service failed: {message}")]
    Internal {
        /// What happened.
        message: String,
    },
    /// The request took longer than it may.
    #[error("the steps took longer than {}", HumanDuration(*limit))]
    TimedOut {
        /// How long it could have taken.
        limit: Duration,
    },
    /// It was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepsErrorClass {
    /// The service is not there, or not any more.
    Lost,
    /// It is, and does not do it.
    Refused,
    /// It broke.
    Internal,
    /// Somebody stopped it, or its time was up.
    Canceled,
}

impl StepsError {
    /// Returns what kind of failure it is.
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
    /// What is lost after a script may have run is not tried again by itself: it could run twice.
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
    fn each_class_has_its_error_of_a_build() {
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
