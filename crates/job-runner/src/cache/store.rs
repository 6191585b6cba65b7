use super::CacheKey;
use archive::{Format, Level};
use async_trait::async_trait;
use executor_core::Cancellation;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Keeps the caches of jobs between runs. All methods may be called at the same time, for the same
/// key too, and by several processes.
///
/// A cache is a help and no more: whoever calls goes on without it after any error.
#[async_trait]
pub trait CacheStore: Send + Sync + Debug {
    /// Returns whether there is something to restore.
    async fn contains(&self, key: &CacheKey) -> bool;

    /// Puts the files of a cache below `into`; `None` when there is no such cache.
    ///
    /// Nothing is written outside of `into`, whatever symbolic links lie in it. A reader has the
    /// files of one writer, never of two.
    ///
    /// # Errors
    ///
    /// When there is a cache and its files cannot be had; some of them may be below `into` then.
    /// A damaged one is gone afterwards.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`CacheError::Stopped`].
    async fn restore(
        &self,
        key: &CacheKey,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<Option<RestoredCache>, CacheError>;

    /// Keeps files as the cache of this key, in the place of what was kept before.
    ///
    /// # Errors
    ///
    /// When they cannot be kept; what was kept before is there as it was.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`CacheError::Stopped`] and changes nothing.
    async fn save(
        &self,
        key: &CacheKey,
        files: CacheFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedCache, CacheError>;
}

/// Files to keep as a cache, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheFiles {
    /// The job's directory.
    pub project: PathBuf,
    /// Files, symbolic links and directories that are empty or have a mode of their own, relative to it,
    /// sorted, each once.
    pub paths: Vec<PathBuf>,
    /// Whether they are just what was restored from the very key they are kept under. Then there is
    /// nothing to do as long as something is kept there.
    pub are_as_restored: bool,
    /// The kind of the archive.
    pub format: Format,
    /// How small it is to be.
    pub level: Level,
}

/// A cache that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredCache {
    /// How many files, links and directories it names.
    pub files: usize,
    /// How large its archive is.
    pub size: u64,
    /// What [`CacheFiles::paths`] were, in short: the same text means the same paths.
    pub names: String,
}

/// What became of files that were to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedCache {
    /// They are kept in a new archive.
    Created {
        /// How large it is.
        size: u64,
        /// Which of them are not in it, and why.
        skipped: Vec<String>,
    },
    /// They are what is kept already.
    UpToDate,
}

/// Why a cache could not be restored or saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// Others had the cache in their hands all the time.
    #[error("another job was busy with it for {} s", waited.as_secs())]
    Busy {
        /// How long it was waited for.
        waited: Duration,
    },
    /// What is kept is not what was written.
    #[error("it was damaged and is removed: {what}")]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
    /// It would need more room than all caches together may have.
    #[error("it needs {size} bytes, and all caches together may have {budget}")]
    TooLarge {
        /// How large it is.
        size: u64,
        /// How large all may be.
        budget: u64,
    },
    /// A file could not be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The archive could not be written or read.
    #[error("{action}")]
    Archive {
        /// What was attempted.
        action: &'static str,
        /// The cause.
        #[source]
        source: executor_core::BoxError,
    },
    /// The job was stopped, or its time for the cache was up.
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
