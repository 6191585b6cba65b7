use crate::Origin;
use std::time::Duration;
use thiserror::Error;

/// Why there is no answer.
///
/// No message holds what stands before an `@` or after a `?` in an address: secrets do.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum WebError {
    /// The address is none that can be asked.
    #[error("{0}")]
    Address(String),
    /// The rules keep this server out; the words say which, and `help` what the user can do.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
        /// What lets it in, if it is wanted.
        help: Option<String>,
    },
    /// The server was redirected from too often.
    #[error("more than {0} redirects")]
    Redirects(usize),
    /// The server is elsewhere now, and what was to be sent is not sent to another one unasked.
    #[error("{server} says that it is at {to} now")]
    Moved {
        /// Who was asked.
        server: Origin,
        /// Whom to ask, as `https://gitlab.example.com`.
        to: String,
        /// What the user can do.
        help: String,
    },
    /// The answer was too long.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    /// The answer is compressed, though that was not asked for.
    #[error("{server} answers in `{encoding}`, which was not asked for")]
    Compressed {
        /// Who.
        server: Origin,
        /// In what.
        encoding: String,
    },
    /// The server did not answer in time.
    #[error("{server} did not answer within {within:?}")]
    Late {
        /// Who.
        server: Origin,
        /// What time there was.
        within: Duration,
    },
    /// There is no way to the server.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// Who.
        server: Origin,
        /// What went wrong, in the words of whoever knows.
        reason: String,
    },
    /// The server's certificate is not trusted.
    #[error("{server} is not trusted: {reason}")]
    Untrusted {
        /// Who.
        server: Origin,
        /// What is wrong with it.
        reason: String,
        /// What the user can do.
        help: String,
    },
    /// The client could not be made.
    #[error("{0}")]
    Setup(String),
}

impl WebError {
    /// Returns whether it may be different next time.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::Unreachable { .. })
    }

    /// Returns what the user can do, as a sentence for a `help` line.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Refused { help, .. } => help.as_deref(),
            Self::Moved { help, .. } | Self::Untrusted { help, .. } => Some(help),
            _ => None,
        }
    }
}
