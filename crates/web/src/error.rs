use crate::Origin;
use executor_core::HumanDuration;
use std::time::Duration;
use thiserror::Error;

/// Why a request got no response.
///
/// No message contains the part of an address before an `@` or after a `?`, where secrets can be.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum WebError {
    /// The address cannot be requested.
    #[error("{0}")]
    Address(String),
    /// The rules refuse this server: `reason` says why, and `help` what the user can do.
    #[error("{reason}")]
    Refused {
        /// Why the server is refused.
        reason: String,
        /// The setting that lets the server in.
        help: Option<String>,
    },
    /// There were more redirects than the limits allow.
    #[error("more than {0} redirects")]
    Redirects(usize),
    /// The server moved. The body is not sent to another server unless the user names it.
    #[error("{server} says that it is at {to} now")]
    Moved {
        /// The server that was requested.
        server: Origin,
        /// The server to name instead, such as `https://gitlab.example.com`.
        to: String,
        /// What the user can do.
        help: String,
    },
    /// The response exceeds the limit.
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    /// The response is compressed, which the request did not allow.
    #[error("{server} answers in `{encoding}`, which was not asked for")]
    Compressed {
        /// The server.
        server: Origin,
        /// The encoding of the response.
        encoding: String,
    },
    /// The server did not respond in time.
    #[error("{server} did not answer within {}", HumanDuration(*within))]
    Late {
        /// The server.
        server: Origin,
        /// How long the attempt was allowed to take.
        within: Duration,
    },
    /// The server cannot be reached.
    #[error("{server} cannot be reached: {reason}")]
    Unreachable {
        /// The server.
        server: Origin,
        /// What went wrong, as the underlying error puts it.
        reason: String,
    },
    /// The server's certificate is not trusted.
    #[error("{server} is not trusted: {reason}")]
    Untrusted {
        /// The server.
        server: Origin,
        /// What is wrong with the certificate.
        reason: String,
        /// What the user can do.
        help: String,
    },
    /// The client could not be created.
    #[error("{0}")]
    Setup(String),
    /// This crate was built without its feature `client`.
    #[error("this build sends no requests over HTTP")]
    NoClient,
}

impl WebError {
    /// Returns whether another attempt can succeed.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Late { .. } | Self::Unreachable { .. })
    }

    /// Returns what the user can do, as a sentence for a `help` line.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Refused { help, .. } => help.as_deref(),
            Self::Moved { help, .. } | Self::Untrusted { help, .. } => Some(help),
            Self::NoClient => Some(
                "build it with the Cargo feature `remote` of `runwright`, or `client` of the crate below it",
            ),
            _ => None,
        }
    }
}
