use crate::RemoteFailure;
use executor_core::HumanDuration;
use process::ProcessError;
use std::time::Duration;

/// Why git returned no output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// It could not be run.
    #[error("run git")]
    Run(#[from] ProcessError),
    /// The caller stopped it.
    #[error("git was stopped")]
    Stopped,
    /// It ran past its deadline and was killed.
    #[error("git {args} did not finish within {}", HumanDuration(*after))]
    Deadline {
        /// Its arguments.
        args: String,
        /// How long it ran.
        after: Duration,
    },
    /// It ran and failed.
    #[error("git {args} ended with {status}: {stderr}")]
    Failed {
        /// Its arguments.
        args: String,
        /// Its exit code or signal.
        status: String,
        /// Its standard error, trimmed.
        stderr: String,
    },
    /// Its output exceeds the limit.
    #[error("git {args} printed more than {limit} bytes")]
    OutputTooLong {
        /// Its arguments.
        args: String,
        /// The limit in bytes.
        limit: usize,
    },
}

impl GitError {
    /// Returns why the server refused, if git failed because of one.
    pub fn remote_failure(&self) -> Option<RemoteFailure> {
        match self {
            Self::Failed { stderr, .. } => Some(RemoteFailure::of(stderr)),
            _ => None,
        }
    }

    /// Returns whether the server redirects to another address.
    pub fn is_redirect(&self) -> bool {
        self.remote_failure() == Some(RemoteFailure::Redirected)
    }
}
