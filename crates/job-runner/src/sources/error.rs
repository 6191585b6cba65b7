use super::file_list::ListError;
use executor_core::{BuildError, Cancellation, Retryability};
use process::ProcessError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// The error of filling a job's directory from a snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The working tree does not exist.
    #[error("the working tree {} is gone", root.display())]
    Vanished {
        /// The working tree.
        root: PathBuf,
    },
    /// The job's directory is the working tree or contains it.
    #[error("the build directory {} contains the working tree", project.display())]
    Inside {
        /// The job's directory.
        project: PathBuf,
    },
    /// Its files could not be listed.
    #[error("list the files of {}", root.display())]
    List {
        /// The working tree.
        root: PathBuf,
        /// The cause.
        #[source]
        source: ListError,
    },
    /// A file could not be copied.
    #[error("copy {}", path.display())]
    File {
        /// The file, relative to the working tree.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The job's directory, or that of the snapshot, could not be created.
    #[error("create directory {}", path.display())]
    Target {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory of the snapshot could not be created.
    #[error("create the directory of the snapshot")]
    Keep(#[source] ProcessError),
    /// Overlays are required and cannot be mounted.
    #[error("mount a job's directory over a snapshot")]
    Overlay(#[source] Arc<ProcessError>),
    /// The directory is to be kept, but an overlay ends with its job.
    #[error("a build directory that is kept cannot be an overlay")]
    Kept,
    /// The job runs in an environment that does not see later mounts.
    #[error("a job that runs in a container cannot see an overlay")]
    Unseen,
    /// Shared blocks are required and the file system does not support them.
    #[error("share the blocks of {}", path.display())]
    Reflink {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The job was stopped.
    #[error("stopped")]
    Stopped,
}

impl SnapshotError {
    /// Returns the error of the job that needed the files.
    pub(crate) fn into_build_error(self, cancellation: &Cancellation) -> BuildError {
        let message = "copy the working tree".to_owned();
        match self {
            Self::Stopped => BuildError::stopped("runner", cancellation),
            Self::Inside { .. }
            | Self::Kept
            | Self::Unseen
            | Self::Overlay(_)
            | Self::Reflink { .. } => BuildError::Config {
                message,
                source: Some(self.into()),
            },
            error => BuildError::System {
                backend: "runner",
                message,
                // Another attempt does not help when the tree is gone.
                retry: match error {
                    Self::Vanished { .. } => Retryability::Permanent,
                    _ => Retryability::Temporary,
                },
                source: Some(error.into()),
            },
        }
    }
}
