use archive::ArchiveError;
use executor_core::BoxError;
use std::io;
use std::path::{Path, PathBuf};
use web::WebError;

/// The error of a helper command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HelperError {
    /// The server cannot be reached, or does not respond.
    #[error("{action}")]
    Web {
        /// What was attempted.
        action: String,
        /// The cause.
        #[source]
        source: Box<WebError>,
    },
    /// The server refuses the request.
    #[error("{action}: the server responded with {status}{hint}")]
    Status {
        /// What was attempted.
        action: String,
        /// The status.
        status: u16,
        /// What it means.
        hint: String,
    },
    /// There is no such cache.
    #[error("no cache was found")]
    NoCache,
    /// Files cannot be found.
    #[error("find files: {0}")]
    Collect(String),
    /// The format is for one file only.
    #[error("the artifact format raw is for one file, but {0} match")]
    NotOneFile(usize),
    /// An archive cannot be packed or unpacked.
    #[error("{action}")]
    Archive {
        /// What was attempted.
        action: &'static str,
        /// The cause.
        #[source]
        source: ArchiveError,
    },
    /// A file cannot be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A process or a thread failed.
    #[error("list the files")]
    System(#[source] BoxError),
}

impl HelperError {
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    pub(super) fn web(action: &str) -> impl Fn(WebError) -> Self {
        move |source| Self::Web {
            action: action.to_owned(),
            source: Box::new(source),
        }
    }

    pub(super) fn archive(action: &'static str) -> impl FnOnce(ArchiveError) -> Self {
        move |source| Self::Archive { action, source }
    }

    pub(super) fn git(error: impl Into<BoxError>) -> Self {
        Self::System(error.into())
    }

    /// Returns the error of an unexpected status.
    pub(super) fn status(action: &str, status: u16) -> Self {
        let hint = match status {
            401 | 403 => ": the job's token is invalid, or the job has ended",
            404 => ": there are no such files, or they have expired",
            413 => ": the upload is too large; save fewer files",
            507 => ": it cannot store the file",
            _ => "",
        };
        Self::Status {
            action: action.to_owned(),
            status,
            hint: hint.to_owned(),
        }
    }
}
