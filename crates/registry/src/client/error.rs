use crate::NameError;
use std::io;
use std::path::{Path, PathBuf};
use url::Url;
use web::WebError;

/// Why a registry was of no use. No message holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A variable `DOCKER_AUTH_CONFIG` is invalid.
    #[error("invalid variable DOCKER_AUTH_CONFIG: {0}")]
    AuthConfig(String),
    /// The registry refuses this user.
    #[error("{reason}")]
    Refused {
        /// Who is refused what.
        reason: String,
        /// What the user can do.
        help: Option<String>,
    },
    /// The registry has no such image, or does not show it to this user.
    #[error("{image} does not exist in its registry")]
    Absent {
        /// The image with its tag or digest.
        image: String,
    },
    /// The registry responds with an unexpected status.
    #[error("{server} answers {status} for {what}")]
    Status {
        /// The server.
        server: String,
        /// The image, or another thing that was requested.
        what: String,
        /// The status of HTTP.
        status: u16,
    },
    /// A response is invalid.
    #[error("{what}: {reason}")]
    Malformed {
        /// The image or the server.
        what: String,
        /// What is invalid.
        reason: String,
    },
    /// A response exceeds a limit.
    #[error("{what} has more than {limit} {unit}")]
    TooLarge {
        /// The image.
        what: String,
        /// The limit.
        limit: u64,
        /// What is counted.
        unit: &'static str,
    },
    /// A file of this machine cannot be written.
    #[error("write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A request over HTTP failed.
    #[error(transparent)]
    Web(#[from] WebError),
}

impl RegistryError {
    pub(super) fn malformed(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Malformed {
            what: what.into(),
            reason: reason.into(),
        }
    }

    /// Returns a function that adds the file to an error of the system.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::Refused { help, .. } => help.as_deref(),
            Self::AuthConfig(_) => Some("it has the form of docker's config.json"),
            Self::Absent { .. } => Some(
                "look at its tags; a registry also says so of an image that it does not show you",
            ),
            Self::Web(error) => error.help(),
            _ => None,
        }
    }

    /// Returns whether trying again can help.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Web(error) => error.is_temporary(),
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

/// Returns the server of an address, for messages.
pub(super) fn server(url: &Url) -> String {
    web::Origin::of(url).map_or_else(|| url.scheme().to_owned(), |origin| origin.to_string())
}
