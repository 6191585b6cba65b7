use job_runner::ArtifactError;
use std::io;
use std::path::{Path, PathBuf};

/// Why an artifact was not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file exists.
    #[error("{} exists already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A path goes through a link.
    #[error("{} is a symbolic link", path.display())]
    ThroughLink {
        /// The link.
        path: PathBuf,
    },
    /// A file would become a part of a repository, where git may run it.
    #[error("{} is inside a Git directory", path.display())]
    GitDirectory {
        /// The file, relative to the directory of the export.
        path: PathBuf,
    },
    /// A file would change the pipeline, or the settings of the project.
    #[error("{} is a file of the pipeline", path.display())]
    PipelineFile {
        /// The file, relative to the directory of the export.
        path: PathBuf,
    },
    /// The artifact cannot be read.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The file system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// The file or directory.
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

    /// Returns what the user can do, if anything.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("--force overwrites it"),
            Self::ThroughLink { .. } => Some("name the target of the link"),
            Self::GitDirectory { .. } => Some("`--output FILE.zip` writes an archive"),
            _ => None,
        }
    }
}
