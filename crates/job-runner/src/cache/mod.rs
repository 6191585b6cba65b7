//! Caches: what jobs keep for later runs. See `docs/design/data-between-jobs.md`.

mod key;
mod local;
mod look;
mod store;

pub use key::CacheKey;
pub use local::{LocalCacheEntry, LocalCaches, RemovedCache};
pub use store::{CacheError, CacheFiles, CacheStore, RestoredCache, SavedCache};
