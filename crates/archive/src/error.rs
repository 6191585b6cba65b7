use executor_core::Cancellation;
use executor_core::cancellation::StopLevel;
use std::io;
use std::path::{Path, PathBuf};

/// Why files cannot be packed, or an archive not be unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// A file cannot be opened, read or written.
    #[error("{action} {}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A step fails that has no file of its own.
    #[error("work on the archive")]
    Work(#[from] io::Error),
    /// The file is no archive of a known kind.
    #[error("it is neither a zip archive nor a tar archive compressed with zstd")]
    Unknown,
    /// The archive contradicts itself, or ends too early.
    #[error("the archive is damaged: {0}")]
    Damaged(String),
    /// The archive uses what we do not read.
    #[error("the archive has {0}, which is not supported")]
    Unsupported(String),
    /// An entry that would do harm, or whose name is none.
    #[error("the archive is refused: its entry {entry} {why}")]
    Refused {
        /// The name of the entry, made safe to print.
        entry: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// There are too many entries.
    #[error("the archive has more than {0} entries")]
    Entries(u64),
    /// There is too much in it.
    #[error("the archive unpacks to more than {0} bytes")]
    Bytes(u64),
    /// There is far more in it than an honest archive of its size has.
    #[error("the archive unpacks to more than {0} times its size")]
    Ratio(u64),
    /// A file became shorter while it was read.
    #[error("{} changed while it was packed", .0.display())]
    Changed(PathBuf),
    /// Somebody asked to stop.
    #[error("it was cancelled")]
    Cancelled,
}

impl ArchiveError {
    /// Returns what turns an error of the system into one that says what was attempted.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns a refusal of an entry of this name, of which only so much is shown as helps.
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

/// Fails when somebody asked to stop.
pub(crate) fn go_on(cancellation: &Cancellation) -> Result<(), ArchiveError> {
    if cancellation.level() == StopLevel::None {
        Ok(())
    } else {
        Err(ArchiveError::Cancelled)
    }
}
