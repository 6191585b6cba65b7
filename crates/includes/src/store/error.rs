use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why answers cannot be stored or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The directory may belong to another user.
    #[error("{} is refused: {reason}", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file system refused.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl StoreError {
    pub(super) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
