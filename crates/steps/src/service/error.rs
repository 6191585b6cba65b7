//! Why the service cannot begin, or cannot go on.

use std::io;
use std::path::PathBuf;

use process::ProcessError;

/// Why the service cannot begin, or did not end in order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The directory for requests cannot be made, or is somebody else's.
    #[error("prepare directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Processes cannot be held as the options ask for, or outlived their end.
    #[error("hold the processes of steps")]
    Processes(#[from] ProcessError),
}

/// Returns an error with its causes.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}
