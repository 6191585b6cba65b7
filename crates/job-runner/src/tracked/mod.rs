//! Detects changes of tracked files that a job did not declare. See `docs/design/comfort.md`.

mod baseline;
mod blob;
mod check;
mod links;
mod listing;
mod occupancy;
mod state;

use baseline::Baseline;
use baseline::Declared;
use occupancy::{Occupancy, Occupant};
use std::fmt::Debug;
use std::sync::Arc;

/// The settings of the warning about undeclared changes of tracked files.
#[derive(Debug, Clone)]
pub struct WatchChanges {
    may_change: Arc<dyn MayChange>,
    occupancy: Arc<Occupancy>,
}

impl WatchChanges {
    /// Returns settings in which `may_change` knows the files that jobs may change besides their artifacts and caches.
    ///
    /// Runners whose jobs share one directory must use clones of one value.
    pub fn new(may_change: Arc<dyn MayChange>) -> Self {
        Self {
            may_change,
            occupancy: Arc::default(),
        }
    }
}

/// Knows which tracked files jobs may change.
pub trait MayChange: Debug + Send + Sync {
    /// Returns the patterns of files that a job may change, as in `artifacts:paths`.
    fn may_change(&self, job: &str) -> Vec<String>;
}
