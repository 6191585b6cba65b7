use crate::digest::Digest;
use executor_core::HumanDuration;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The error of an operation on a content store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A file outside the store could not be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// The attempted action, such as `read`.
        action: &'static str,
        /// The file, relative to the caller's directory if there is one.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The store itself could not be read or written.
    #[error("{action} {} of the store", path.display())]
    Store {
        /// The attempted action, such as `read`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A path goes through a symbolic link, which is not followed.
    #[error("{} would go through a symbolic link", path.display())]
    ThroughLink {
        /// The file or directory.
        path: PathBuf,
    },
    /// A directory exists where a file is needed, or the other way round.
    #[error("something else is in the place of {}", path.display())]
    InTheWay {
        /// The file or directory.
        path: PathBuf,
    },
    /// A path leads out of the directory, or is invalid.
    #[error("{path:?} is no path below a directory")]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// A tree is not in the store, or has expired.
    #[error("tree {0} is not in the store")]
    NoTree(Digest),
    /// A file of the store does not match its name.
    #[error("{} of the store is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The kind of damage, as a clause.
        reason: String,
    },
    /// Another process has locked the store for too long.
    #[error("the store is locked by another process for more than {}", HumanDuration(*.0))]
    Locked(Duration),
    /// The caller cancelled the operation.
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
