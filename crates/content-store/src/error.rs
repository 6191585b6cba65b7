use crate::digest::Digest;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why something could not be kept, restored or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file of whoever keeps or restores could not be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// The file, below the directory that was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The store itself could not be read or written.
    #[error("{action} {} of the store", path.display())]
    Store {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A symbolic link would lead somewhere else.
    #[error("{} would go through a symbolic link", path.display())]
    ThroughLink {
        /// The file or directory.
        path: PathBuf,
    },
    /// A directory is where a file is to be, or the other way round.
    #[error("something else is in the place of {}", path.display())]
    InTheWay {
        /// The file or directory.
        path: PathBuf,
    },
    /// A path leads out of the directory, or cannot be one.
    #[error("{path:?} is no path below a directory")]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// A tree is not in the store, or its time is over.
    #[error("tree {0} is not in the store")]
    NoTree(Digest),
    /// A file of the store is not what its name says.
    #[error("{} of the store is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process sweeps the store and does not come to an end.
    #[error("the store is locked by another process for more than {} seconds", .0.as_secs())]
    Locked(Duration),
    /// Whoever asked is not interested any more.
    #[error("stopped")]
    Stopped,
}

impl StoreError {
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    pub(crate) fn store(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Store {
            action,
            path,
            source,
        }
    }
}
