//! Errors of jobs in a cluster.

use executor_core::{BoxError, BuildError, CancelCause, Retryability};

/// Returns whether the API server says that a quota is used up.
pub(crate) fn is_quota(message: &str) -> bool {
    message.contains("exceeded quota")
}

/// Why a job cannot run in a cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KubernetesError {
    /// The settings or the job are invalid.
    #[error("{0}")]
    Config(String),
    /// The API server refused a request, in its words.
    #[error("{doing}: {message}")]
    Refused {
        /// What was attempted.
        doing: &'static str,
        /// The words of the server, or of an admission webhook.
        message: String,
        /// Whether another attempt may succeed.
        retry: Retryability,
    },
    /// The API server cannot be reached, or its answer is not understood.
    #[error("{doing}")]
    Unreachable {
        /// What was attempted.
        doing: &'static str,
        /// The cause.
        source: BoxError,
    },
    /// The pod of a job cannot run, or has ended.
    #[error("pod {name}: {reason}")]
    Pod {
        /// Its name.
        name: String,
        /// What Kubernetes says of it.
        reason: String,
        /// Whether another pod may succeed.
        retry: Retryability,
    },
    /// The agent cannot run in the container of a job.
    #[error("{0}")]
    NoAgent(String),
    /// The work was stopped.
    #[error("canceled {0}")]
    Canceled(CancelCause),
}

impl KubernetesError {
    /// Returns the error of a request.
    pub(crate) fn of(doing: &'static str, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                // A conflict, too many requests, and faults of the server pass. So does a quota, when another pod ends.
                let passes = matches!(status.code, 409 | 429 | 500..) || is_quota(&status.message);
                Self::Refused {
                    doing,
                    message: status.message,
                    retry: if passes {
                        Retryability::Temporary
                    } else {
                        Retryability::Permanent
                    },
                }
            }
            // Its own text repeats the cause.
            kube::Error::Service(source) => Self::Unreachable { doing, source },
            error => Self::Unreachable {
                doing,
                source: error.into(),
            },
        }
    }

    /// Returns whether a quota of the namespace is used up.
    pub(crate) fn is_quota(&self) -> bool {
        matches!(self, Self::Refused { message, .. } if is_quota(message))
    }

    /// Makes a refusal of the API server one that may pass.
    pub(crate) fn into_temporary(mut self) -> Self {
        if let Self::Refused { retry, .. } = &mut self {
            *retry = Retryability::Temporary;
        }
        self
    }

    /// Returns whether another attempt may succeed.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Config(_) | Self::NoAgent(_) | Self::Canceled(_) => false,
            Self::Refused { retry, .. } | Self::Pod { retry, .. } => {
                *retry == Retryability::Temporary
            }
            Self::Unreachable { .. } => true,
        }
    }
}

/// Returns why no agent can run in a pod, if that is the error.
pub(crate) fn no_agent(error: &BuildError) -> Option<String> {
    let BuildError::Config { source, .. } = error else {
        return None;
    };
    match source.as_ref()?.downcast_ref()? {
        KubernetesError::NoAgent(reason) => Some(reason.clone()),
        _ => None,
    }
}

impl From<KubernetesError> for BuildError {
    fn from(error: KubernetesError) -> Self {
        let retry = match &error {
            KubernetesError::Canceled(cause) => return Self::Canceled(*cause),
            KubernetesError::Config(message) => return Self::config(message.clone()),
            KubernetesError::NoAgent(_) => {
                return Self::Config {
                    message: "no agent can run in the pod".to_owned(),
                    source: Some(error.into()),
                };
            }
            KubernetesError::Refused { retry, .. } | KubernetesError::Pod { retry, .. } => *retry,
            KubernetesError::Unreachable { .. } => Retryability::Temporary,
        };
        let message = error.to_string();
        let source = match error {
            KubernetesError::Unreachable { source, .. } => Some(source),
            _ => None,
        };
        Self::System {
            backend: crate::NAME,
            message,
            source,
            retry,
        }
    }
}
