use executor_core::Cancellation;
use executor_core::cancellation::StopLevel;
use std::io;
use std::path::{Path, PathBuf};

/// The error of packing or unpacking an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// A file cannot be opened, read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// The attempted action, such as `read`.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A step fails that concerns no particular file.
    #[error("work on the archive")]
    Work(#[from] io::Error),
    /// The file is not an archive of a known kind.
    #[error("it is neither a zip archive nor a tar archive compressed with zstd")]
    Unknown,
    /// The archive contradicts itself, or ends too early.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// The archive uses an unsupported feature.
    #[error("the archive has {0}, which is not supported")]
    Unsupported(String),
    /// An entry is unsafe, or its name is invalid.
    #[error("the archive is refused: its entry {entry} {why}")]
    Refused {
        /// The name of the entry, escaped for printing.
        entry: String,
        /// The reason, as a fragment.
        why: &'static str,
    },
    /// The archive has too many entries.
    #[error("the archive has more than {0} entries")]
    Entries(u64),
    /// The unpacked size exceeds the limit.
    #[error("the archive unpacks to more than {0} bytes")]
    Bytes(u64),
    /// The unpacked size is far larger than that of an honest archive of the same size.
    #[error("the archive unpacks to more than {0} times its size")]
    Ratio(u64),
    /// A file became shorter while it was read.
    #[error("{} changed while it was packed", .0.display())]
    Changed(PathBuf),
    /// The caller cancelled the operation.
    #[error("it was cancelled")]
    Cancelled,
}

impl ArchiveError {
    /// Returns a conversion that adds the attempted action and the path to an error of the system.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns the refusal of an entry, with its name shortened for the message.
    pub(crate) fn refused(name: &[u8], why: &'static str) -> Self {
        let start = &name[..name.len().min(80)];
        let dots = if name.len() > 80 { ".." } else { "" };
        Self::Refused {
            entry: format!("{:?}{dots}", String::from_utf8_lossy(start)),
            why,
        }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged(what.into())
    }
}

/// Fails after a cancellation.
pub(crate) fn go_on(cancellation: &Cancellation) -> Result<(), ArchiveError> {
    if cancellation.level() == StopLevel::None {
        Ok(())
    } else {
        Err(ArchiveError::Cancelled)
    }
}
