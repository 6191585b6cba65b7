//! Caches of a user on this host, for all projects together.

mod caches;
mod entry;
mod listed;
mod lock;
mod place;
mod remove;
mod temporary;

pub use caches::LocalCaches;
pub use listed::{LocalCacheEntry, RemovedCache};
