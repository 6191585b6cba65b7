use super::file_list::ListError;
use executor_core::{BuildError, Cancellation, Retryability};
use process::ProcessError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a job could not get its files from a snapshot of a working tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The working tree is not there, or not any more.
    #[error("the working tree {} is gone", root.display())]
    Vanished {
        /// The working tree.
        root: PathBuf,
    },
    /// The job's directory would be the working tree or hold it.
    #[error("the build directory {} holds the working tree itself", project.display())]
    Inside {
        /// The job's directory.
        project: PathBuf,
    },
    /// Its files could not be listed.
    #[error("list the files of {}", root.display())]
    List {
        /// The working tree.
        root: PathBuf,
        /// Why.
        #[source]
        source: ListError,
    },
    /// A file could not be copied.
    #[error("copy {}", path.display())]
    File {
        /// The file, relative to the working tree.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The job's directory, or that of the snapshot, could not be made ready.
    #[error("make {}", path.display())]
    Target {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory of the snapshot could not be made.
    #[error("keep a snapshot")]
    Keep(#[source] ProcessError),
    /// Overlays are demanded and cannot be had.
    #[error("lay a job's directory over a snapshot")]
    Overlay(#[source] Arc<ProcessError>),
    /// An overlay ends with its job.
    #[error("a build directory that is kept cannot be an overlay")]
    Kept,
    /// The job runs in an environment that was there first.
    #[error("a job that runs in a container cannot see an overlay")]
    Unseen,
    /// Shared blocks are demanded and the file system has none.
    #[error("share the blocks of {}", path.display())]
    Reflink {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The job was stopped meanwhile.
    #[error("stopped")]
    Stopped,
}

impl SnapshotError {
    /// Says what it means for the job that was to get its files.
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
                // A tree that is gone will not come back for a second try.
                retry: match error {
                    Self::Vanished { .. } => Retryability::Permanent,
                    _ => Retryability::Temporary,
                },
                source: Some(error.into()),
            },
        }
    }
}
