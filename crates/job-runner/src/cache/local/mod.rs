//! Caches of a user on this host, for all projects together.

mod budget;
mod caches;
mod entry;
mod listed;
mod lock;
mod place;
mod port;
mod remove;
mod restore;
mod save;
mod temporary;

pub use caches::LocalCaches;
pub use listed::{LocalCacheEntry, RemovedCache};
