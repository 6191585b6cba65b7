//! The errors of this executor, and how they map to [`BuildError`].

pub use crate::image::PullFault;

use executor_core::{BoxError, BuildError, CancelCause, HumanDuration, Retryability};
use registry::{NameError, ReferenceError};
use std::io;
use std::time::Duration;

/// The part that failed, in the messages of [`BuildError`].
pub(crate) const BACKEND: &str = "docker";

/// A failure of a job's configuration or of the container engine.
///
/// [`is_temporary`](Self::is_temporary) tells whether a retry may help. `From` turns it into a [`BuildError`] with
/// GitLab's failure reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DockerError {
    /// The job or the settings request something impossible.
    #[error("{message}")]
    Config {
        /// What is wrong, and with which setting.
        message: String,
        /// The cause.
        #[source]
        source: Option<BoxError>,
    },
    /// The engine cannot be reached.
    #[error("connect to the container engine at {address}: {cause}{}", advice(*help))]
    Unreachable {
        /// Its address.
        address: String,
        /// The reason.
        cause: String,
        /// A remedy for the user.
        help: Option<&'static str>,
    },
    /// The engine did not answer in time.
    #[error("{doing}: the container engine did not answer within {}", HumanDuration(*after))]
    Deadline {
        /// The operation.
        doing: String,
        /// The time limit.
        after: Duration,
    },
    /// The engine answered with an error.
    #[error("{doing}: {message}")]
    Api {
        /// The operation.
        doing: String,
        /// The HTTP status.
        status: u16,
        /// The message of the engine.
        message: String,
    },
    /// The engine, or the connection to it, broke during an operation.
    #[error("{doing}")]
    Broken {
        /// The operation.
        doing: String,
        /// The cause.
        #[source]
        source: BoxError,
    },
    /// An image could not be pulled.
    #[error("pull image {image}: {message}")]
    ImagePull {
        /// The image, as it was requested.
        image: String,
        /// The kind of the failure.
        fault: PullFault,
        /// The message of the engine or of the registry.
        message: String,
        /// Whether a retry may help.
        retry: Retryability,
    },
    /// A container was removed or ended unexpectedly.
    #[error("container {container} is lost: {cause}")]
    ContainerLost {
        /// Its name or id.
        container: String,
        /// The reason, as far as it is known.
        cause: String,
    },
    /// The job was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
}

fn advice(help: Option<&str>) -> String {
    help.map(|help| format!("; {help}")).unwrap_or_default()
}

impl DockerError {
    /// Returns a configuration error without a source.
    pub fn config(message: impl Into<String>) -> Self {
        Self::Config {
            message: message.into(),
            source: None,
        }
    }

    /// Translates an error of the API; `doing` names the operation.
    pub fn from_api(doing: impl Into<String>, error: bollard::errors::Error) -> Self {
        use bollard::errors::Error;
        let doing = doing.into();
        match error {
            Error::DockerResponseServerError {
                status_code,
                message,
            } => Self::Api {
                doing,
                status: status_code,
                message: message.trim().to_owned(),
            },
            Error::DockerStreamError { error } => Self::Api {
                doing,
                status: 500,
                message: error.trim().to_owned(),
            },
            Error::RequestTimeoutError => Self::Broken {
                doing,
                source: io::Error::from(io::ErrorKind::TimedOut).into(),
            },
            Error::IOError { err } => Self::Broken {
                doing,
                source: err.into(),
            },
            error => Self::Broken {
                doing,
                source: error.into(),
            },
        }
    }

    /// Returns the HTTP status of an error response.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Api { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns whether the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Returns whether the request conflicts with another object or request.
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(409)
    }

    /// Returns whether a retry may help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Config { .. } | Self::Canceled(_) => false,
            Self::Unreachable { .. }
            | Self::Deadline { .. }
            | Self::Broken { .. }
            | Self::ContainerLost { .. } => true,
            Self::Api { status, .. } => *status >= 500 || matches!(status, 408 | 409 | 429),
            Self::ImagePull { retry, .. } => *retry == Retryability::Temporary,
        }
    }
}

impl From<CancelCause> for DockerError {
    fn from(cause: CancelCause) -> Self {
        Self::Canceled(cause)
    }
}

impl From<ReferenceError> for DockerError {
    fn from(error: ReferenceError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<NameError> for DockerError {
    fn from(error: NameError) -> Self {
        Self::config(error.to_string())
    }
}

impl From<io::Error> for DockerError {
    fn from(source: io::Error) -> Self {
        Self::Broken {
            doing: "communicate with the container engine".to_owned(),
            source: source.into(),
        }
    }
}

impl From<DockerError> for BuildError {
    fn from(error: DockerError) -> Self {
        let retry = match &error {
            DockerError::ImagePull { retry, .. } => *retry,
            error if error.is_temporary() => Retryability::Temporary,
            _ => Retryability::Permanent,
        };
        let text = error.to_string();
        match error {
            DockerError::Config { message, source } => Self::Config { message, source },
            DockerError::Canceled(cause) => Self::Canceled(cause),
            DockerError::ImagePull {
                fault:
                    PullFault::Unreachable
                    | PullFault::Certificate
                    | PullFault::Registry
                    | PullFault::TooManyRequests,
                ..
            } => Self::ExternalDependency {
                message: text,
                source: None,
                retry,
            },
            DockerError::ImagePull {
                image,
                fault:
                    PullFault::NotFound
                    | PullFault::Denied
                    | PullFault::Platform
                    | PullFault::Corrupt
                    | PullFault::Refused,
                message,
                ..
            } => Self::ImagePull {
                image,
                source: Some(message.into()),
                retry,
            },
            DockerError::Broken { doing, source } => Self::System {
                backend: BACKEND,
                message: doing,
                source: Some(source),
                retry,
            },
            DockerError::Api { .. }
            | DockerError::Unreachable { .. }
            | DockerError::Deadline { .. }
            | DockerError::ContainerLost { .. }
            | DockerError::ImagePull {
                fault: PullFault::Engine | PullFault::EngineLost,
                ..
            } => Self::System {
                backend: BACKEND,
                message: text,
                source: None,
                retry,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::FailureReason;

    fn check(error: DockerError, reason: FailureReason, temporary: bool, words: &str) {
        let error = BuildError::from(error);
        let found = (error.failure_reason(), error.is_temporary(), error.chain());
        assert_eq!(found, (reason, temporary, words.to_owned()));
    }

    fn pull(fault: PullFault) -> DockerError {
        DockerError::ImagePull {
            image: "app:1".to_owned(),
            fault,
            message: "no".to_owned(),
            retry: if fault.is_temporary() {
                Retryability::Temporary
            } else {
                Retryability::Permanent
            },
        }
    }

    #[test]
    fn each_kind_has_its_failure_reason() {
        use FailureReason::{
            ImagePullFailure, RunnerConfigurationError, RunnerExternalDependencyFailure,
            RunnerSystemFailure,
        };
        check(
            DockerError::config("no such host"),
            RunnerConfigurationError,
            false,
            "no such host",
        );
        check(
            pull(PullFault::NotFound),
            ImagePullFailure,
            false,
            "pull image app:1: no",
        );
        check(
            pull(PullFault::Unreachable),
            RunnerExternalDependencyFailure,
            true,
            "pull image app:1: no",
        );
        check(
            pull(PullFault::EngineLost),
            RunnerSystemFailure,
            true,
            "docker: pull image app:1: no",
        );
        check(
            DockerError::Unreachable {
                address: "unix:///docker.sock".to_owned(),
                cause: "no such file".to_owned(),
                help: Some("is it running?"),
            },
            RunnerSystemFailure,
            true,
            "docker: connect to the container engine at unix:///docker.sock: no such file; is it running?",
        );
        check(
            DockerError::Api {
                doing: "create container a".to_owned(),
                status: 400,
                message: "no such user".to_owned(),
            },
            RunnerSystemFailure,
            false,
            "docker: create container a: no such user",
        );
        check(
            io::Error::from(io::ErrorKind::ConnectionReset).into(),
            RunnerSystemFailure,
            true,
            "docker: communicate with the container engine: connection reset",
        );
    }
}
