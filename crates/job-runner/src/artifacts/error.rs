use content_store::StoreError;
use std::io;
use std::path::PathBuf;

/// Why artifacts could not be kept or fetched.
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
        /// What the system said.
        source: io::Error,
    },
    /// The store of contents has trouble, or the files have.
    #[error(transparent)]
    Content(StoreError),
    /// A list of what a job left cannot be read.
    #[error("{} is no list of artifacts: {reason}", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The archive could not be packed.
    #[error("pack the artifacts")]
    Pack(#[source] executor_core::BoxError),
    /// The job was stopped.
    #[error("stopped")]
    Stopped,
    /// Another store's own trouble.
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
