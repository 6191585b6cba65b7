use archive::ArchiveError;
use git::GitError;
use process::ProcessError;
use registry::{NameError, RegistryError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::LibraryError;
use web::WebError;

/// Why something was not fetched or published. No message holds a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A name, address or setting is invalid.
    #[error("{what} {why}")]
    Invalid {
        what: String,
        why: String,
        help: Option<String>,
    },
    /// A server refuses this user, or does not show this user the thing.
    #[error("{0}")]
    Refused(String, Option<String>),
    /// The archive to publish is invalid.
    #[error("the archive {}: {why}", path.display())]
    Archive { path: PathBuf, why: String },
    /// A repository has no such tag, branch or commit.
    #[error("{repository} has no tag, branch or commit `{rev}`")]
    NoRevision { repository: String, rev: String },
    /// An abbreviated commit is ambiguous.
    #[error("`{rev}` may be {found} in {repository}")]
    Ambiguous {
        repository: String,
        rev: String,
        found: String,
    },
    /// It is not in the cache, and this program is offline.
    #[error("{0} is not in the cache of functions")]
    Offline(String),
    /// A server did not answer git.
    #[error("{server} did not answer git: {line}")]
    Unavailable { server: String, line: String },
    /// It took too long.
    #[error("{what} did not come within {allowed:?}")]
    Late { what: String, allowed: Duration },
    /// Another program holds its lock.
    #[error("another program is busy with {0}")]
    Busy(String),
    /// It exceeds a limit.
    #[error("{what} has more than {limit} {unit}")]
    TooLarge {
        what: String,
        limit: u64,
        unit: &'static str,
    },
    /// The cache cannot be used.
    #[error("the cache of functions: {action} {}", path.display())]
    Cache {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A registry was of no use.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A layer of an image cannot be unpacked.
    #[error("a layer of {image}")]
    Layer {
        image: String,
        #[source]
        source: ArchiveError,
    },
    /// Git cannot be started.
    #[error(transparent)]
    Git(GitError),
    /// A request over HTTP failed.
    #[error(transparent)]
    Web(#[from] WebError),
}

impl Error {
    /// Returns a function that adds the attempted action to an error of the system.
    pub(crate) fn cache(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Cache {
            action,
            path,
            source,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Invalid { help, .. } | Self::Refused(_, help) => help.clone(),
            Self::Web(error) => error.help().map(str::to_owned),
            Self::Registry(error) => error.help().map(str::to_owned),
            Self::Ambiguous { .. } => Some("write more digits of the commit".to_owned()),
            Self::Offline(_) => Some("fetch it once without `--offline` to cache it".to_owned()),
            Self::Git(GitError::Run(ProcessError::NotFound { .. })) => {
                Some("install git on the machine that runs this program".to_owned())
            }
            _ => None,
        }
    }

    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Late { .. } | Self::Busy(_) => true,
            Self::Web(error) => error.is_temporary(),
            Self::Registry(error) => error.is_temporary(),
            _ => false,
        }
    }
}

impl From<NameError> for Error {
    fn from(error: NameError) -> Self {
        Self::Registry(error.into())
    }
}

impl From<Error> for LibraryError {
    fn from(error: Error) -> Self {
        let mut message = error.to_string();
        // The log of a job shows only the message.
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            message = format!("{message}: {error}");
            cause = error.source();
        }
        if let Some(help) = error.help() {
            message = format!("{message} ({help})");
        }
        Self {
            message,
            is_temporary: error.is_temporary(),
            source: Some(Box::new(error)),
        }
    }
}
