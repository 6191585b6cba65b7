//! Caches: files that jobs keep for later runs. See `docs/design/data-between-jobs.md`.

mod by_helper;
mod files;
mod fingerprint;
mod job_cache;
mod key;
mod local;
mod planned;
mod restoring;
mod saving;
mod settings;
mod store;

pub(crate) use files::{cached_paths, with_own_modes};
pub(crate) use planned::JobCaches;

pub use key::CacheKey;
pub use local::{LocalCacheEntry, LocalCaches, RemovedCache};
pub use store::{CacheError, CacheFiles, CacheStore, RestoredCache, SavedCache};
