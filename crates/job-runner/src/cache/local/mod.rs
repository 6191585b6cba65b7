//! Caches of a user on this host, for all projects together.

mod budget;
mod caches;
mod entry;
mod layout;
mod list;
mod lock;
mod remove;
mod restore;
mod save;
mod store;
mod temporary;

pub use caches::LocalCaches;
pub use list::{LocalCacheEntry, RemovedCache};
