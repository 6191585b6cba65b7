//! Which files that Git tracks a job has changed without saying so. See `docs/design/comfort.md`.

mod before;
mod blob;
mod company;
mod declared;
mod links;
mod listing;
mod look;
mod state;

use before::Before;
use company::{Company, Guest};
use declared::Declared;

use std::fmt::Debug;
use std::sync::Arc;

/// Asks for a warning when a job changes files that Git tracks and did not say so.
#[derive(Debug, Clone)]
pub struct WatchChanges {
    may_change: Arc<dyn MayChange>,
    company: Arc<Company>,
}

impl WatchChanges {
    /// Asks for it; `may_change` knows what jobs may change besides their artifacts and caches.
    ///
    /// Runners whose jobs work in one directory are to have clones of one of these.
    pub fn new(may_change: Arc<dyn MayChange>) -> Self {
        Self {
            may_change,
            company: Arc::default(),
        }
    }
}

/// Knows which tracked files jobs may change.
pub trait MayChange: Debug + Send + Sync {
    /// Returns the patterns of the files that the job of this name may change, like those of
    /// `artifacts:paths`.
    fn may_change(&self, job: &str) -> Vec<String>;
}
