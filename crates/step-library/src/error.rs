use archive::ArchiveError;
use process::ProcessError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steps::LibraryError;
use web::WebError;

/// Why something was not fetched or published. No message holds a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// What was asked for cannot be asked for.
    #[error("{what} {why}")]
    Asked {
        what: String,
        why: String,
        help: Option<String>,
    },
    /// A server lets nobody in, or has no such thing for whoever asks.
    #[error("{0}")]
    Refused(String, Option<String>),
    /// A registry has no such image for whoever asks.
    #[error("{0}")]
    Absent(String, &'static str),
    /// What is to be published is not as it should be.
    #[error("the archive {}: {why}", path.display())]
    Archive { path: PathBuf, why: String },
    /// A repository has no such tag, branch or commit.
    #[error("{repository} has no tag, branch or commit `{rev}`")]
    NoRevision { repository: String, rev: String },
    /// An abbreviated commit means several.
    #[error("`{rev}` may be {found} in {repository}")]
    Ambiguous {
        repository: String,
        rev: String,
        found: String,
    },
    /// It is not in the cache, and nobody may be asked.
    #[error("{0} is not in the cache of functions")]
    Offline(String),
    /// A server does not answer as it should.
    #[error("{server} did not answer git: {words}")]
    Unavailable { server: String, words: String },
    /// It took too long.
    #[error("{what} did not come within {within:?}")]
    Late { what: String, within: Duration },
    /// Another program keeps it to itself.
    #[error("another program is busy with {0}")]
    Busy(String),
    /// There is too much of it.
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
    /// A server answers with what nobody asked for.
    #[error("{server} answers {status} for {what}")]
    Answer {
        server: String,
        what: String,
        status: u16,
    },
    /// What a server gives is not what it should be.
    #[error("{what}: {why}")]
    Malformed { what: String, why: String },
    /// A layer of an image cannot be unpacked.
    #[error("a layer of {image}")]
    Layer {
        image: String,
        #[source]
        source: ArchiveError,
    },
    /// Git cannot be started.
    #[error("git")]
    Git(#[source] ProcessError),
    /// A request over HTTP found no answer.
    #[error(transparent)]
    Web(#[from] WebError),
}

impl Error {
    /// Returns what turns an error of the system into one that says what was attempted.
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
            Self::Asked { help, .. } | Self::Refused(_, help) => help.clone(),
            Self::Web(error) => error.help().map(str::to_owned),
            Self::Absent(_, help) => Some((*help).to_owned()),
            Self::Ambiguous { .. } => Some("write more digits of the commit".to_owned()),
            Self::Offline(_) => {
                Some("fetch it once without `--offline`, and it is kept".to_owned())
            }
            Self::Git(ProcessError::NotFound { .. }) => {
                Some("install git on the machine that runs this program".to_owned())
            }
            _ => None,
        }
    }

    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Late { .. } | Self::Busy(_) => true,
            Self::Web(error) => error.is_temporary(),
            Self::Answer { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }
}

impl From<Error> for LibraryError {
    fn from(error: Error) -> Self {
        let mut message = error.to_string();
        // The log of a job shows the message alone.
        let mut cause = std::error::Error::source(&error);
        while let Some(behind) = cause {
            message = format!("{message}: {behind}");
            cause = behind.source();
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
