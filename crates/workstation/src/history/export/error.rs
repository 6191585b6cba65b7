use job_runner::ArtifactError;
use std::io;
use std::path::{Path, PathBuf};

/// Why an artifact was not got out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file is where another is to be written.
    #[error("{} is there already", path.display())]
    InTheWay {
        /// The file.
        path: PathBuf,
    },
    /// A link would lead what is written somewhere else.
    #[error("{} is a symbolic link", path.display())]
    ThroughLink {
        /// The link.
        path: PathBuf,
    },
    /// What is kept cannot be had.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With which file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl ExportError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// Returns what the user can do, where there is something.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::InTheWay { .. } => Some("--force writes over it"),
            Self::ThroughLink { .. } => Some("name the place itself"),
            _ => None,
        }
    }
}
