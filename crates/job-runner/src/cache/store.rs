use super::CacheKey;
use super::fingerprint::names_digest;
use archive::{Format, Level};
use async_trait::async_trait;
use executor_core::{Cancellation, HumanDuration};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Keeps the caches of jobs between runs.
///
/// All methods may be called concurrently, also for the same key and from several processes. A cache is optional:
/// after an error the caller continues without it.
#[async_trait]
pub trait CacheStore: Send + Sync + Debug {
    /// Returns whether a cache exists for this key. It may be dropped while it looks.
    async fn contains(&self, key: &CacheKey) -> bool;

    /// Restores the files of a cache below `into`; `None` when there is no such cache.
    ///
    /// Nothing is written outside of `into`, whatever symbolic links are in it. All files come from one save.
    ///
    /// # Errors
    ///
    /// When there is a cache but it cannot be restored; some of its files may then be below `into`. A damaged
    /// cache is removed, or replaced by the next save.
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

    /// Saves files as the cache of this key, in place of the previous one.
    ///
    /// # Errors
    ///
    /// When they cannot be saved; the previous cache is unchanged.
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

/// Files to save as a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheFiles {
    /// The job's directory.
    pub project: PathBuf,
    /// Files, symbolic links, and directories that are empty or have a mode of their own. The paths are relative to
    /// `project`, sorted, without duplicates.
    pub paths: Vec<PathBuf>,
    /// Whether the files are unchanged since they were restored from the same key. Then nothing is saved as long
    /// as a cache exists for the key.
    pub are_as_restored: bool,
    /// The archive format.
    pub format: Format,
    /// The compression level.
    pub level: Level,
}

impl CacheFiles {
    /// Returns the digest of the paths, for [`RestoredCache::names`].
    pub fn names(&self) -> String {
        names_digest(&self.paths)
    }
}

/// A cache that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredCache {
    /// The number of files, links and directories.
    pub files: usize,
    /// The size of the archive in bytes.
    pub size: u64,
    /// What [`CacheFiles::names`] returned when it was saved; empty if the store does not know it.
    pub names: String,
}

/// The result of [`CacheStore::save`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SavedCache {
    /// The files are in a new archive.
    Created {
        /// The size of the archive in bytes.
        size: u64,
        /// Files that are not in the archive, with the reason.
        skipped: Vec<String>,
    },
    /// The existing cache already has these files.
    UpToDate,
}

/// The error of restoring or saving a cache.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The cache was in use by other jobs.
    #[error("another job used it for {}", HumanDuration(*waited))]
    Busy {
        /// How long this job waited.
        waited: Duration,
    },
    /// The stored data is not what was written.
    #[error("it is damaged and was removed: {what}")]
    Damaged {
        /// The damage.
        what: String,
    },
    /// The cache is larger than the budget of all caches.
    #[error("it needs {size} bytes, but all caches together may have {budget}")]
    TooLarge {
        /// The size in bytes.
        size: u64,
        /// The budget in bytes.
        budget: u64,
    },
    /// A file could not be read or written.
    #[error("{action} {}", path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
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
    /// The job was stopped, or the timeout of the cache passed.
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
