use content_store::StoreError;
use std::io;
use std::path::PathBuf;

/// The error of saving or fetching artifacts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// A file could not be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The content store failed.
    #[error(transparent)]
    Content(StoreError),
    /// The list of a job's artifacts cannot be read.
    #[error("{} is not a list of artifacts: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The archive could not be packed.
    #[error("pack the artifacts")]
    Pack(#[source] executor_core::BoxError),
    /// The store does not take or have these files. GitLab blames the job.
    #[error("{0}")]
    Refused(String),
    /// The job was stopped.
    #[error("stopped")]
    Stopped,
    /// An error of another kind of store.
    #[error("{message}")]
    Other {
        /// What was attempted.
        message: String,
        /// The cause.
        #[source]
        source: Option<executor_core::BoxError>,
    },
}

impl From<StoreError> for ArtifactError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Stopped => Self::Stopped,
            error => Self::Content(error),
        }
    }
}
