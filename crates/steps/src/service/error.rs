//! Errors of the service.

use std::io;
use std::path::PathBuf;

use process::ProcessError;

/// Why the service cannot start, or did not shut down cleanly.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The directory for requests cannot be created, or belongs to another user.
    #[error("prepare directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Processes cannot be contained as configured, or outlived their end.
    #[error("hold the processes of steps")]
    Processes(#[from] ProcessError),
}
