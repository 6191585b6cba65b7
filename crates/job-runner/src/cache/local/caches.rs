use super::place::Place;
use std::path::PathBuf;
use std::time::Duration;

/// Keeps caches as archives below one directory of this host, for all projects of a user.
///
/// Several processes may use the same directory at once. Whoever is killed while he writes leaves
/// what was kept before, and something in `tmp/` that the next one removes.
#[derive(Debug, Clone)]
pub struct LocalCaches {
    place: Place,
    scope: String,
    budget: u64,
    patience: Duration,
}

impl LocalCaches {
    /// How much room all caches together may take, if nobody says otherwise.
    pub const DEFAULT_BUDGET: u64 = 10_000_000_000;

    /// Names the directory of all caches; it is made when the first one comes.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            place: Place::new(directory.into()),
            scope: String::new(),
            budget: Self::DEFAULT_BUDGET,
            patience: Duration::from_mins(1),
        }
    }

    /// Returns the caches of one project, whose keys are its own: `name` tells it from all others.
    #[must_use]
    pub fn of_project(&self, name: impl Into<String>) -> Self {
        Self {
            scope: name.into(),
            ..self.clone()
        }
    }

    /// Says how many bytes all archives together may have. What was used longest ago goes first.
    #[must_use]
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Says how long a job waits for others that are busy with the same cache. Default: a minute.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns whose caches these are.
    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    /// Returns how many bytes all archives together may have.
    pub(super) fn bytes(&self) -> u64 {
        self.budget
    }

    pub(super) fn longest_wait(&self) -> Duration {
        self.patience
    }
}
