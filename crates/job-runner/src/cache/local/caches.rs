use super::layout::Layout;
use std::path::PathBuf;
use std::time::Duration;

/// Keeps caches as archives below one directory of this host, for all projects of a user.
///
/// Several processes may use the directory at once. A process that is killed while it writes leaves the
/// previous cache and some files in `tmp/`, which the next process removes.
#[derive(Debug, Clone)]
pub struct LocalCaches {
    layout: Layout,
    scope: String,
    budget: u64,
    max_wait: Duration,
}

impl LocalCaches {
    /// The default budget of all caches together.
    pub const DEFAULT_BUDGET: u64 = 10_000_000_000;

    /// Sets the directory of all caches, which is created with the first cache.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            layout: Layout::new(directory.into()),
            scope: String::new(),
            budget: Self::DEFAULT_BUDGET,
            max_wait: Duration::from_mins(1),
        }
    }

    /// Returns the caches of one project with keys of their own; `name` must be unique.
    #[must_use]
    pub fn of_project(&self, name: impl Into<String>) -> Self {
        Self {
            scope: name.into(),
            ..self.clone()
        }
    }

    /// Sets the budget of all archives together in bytes. The least recently used are removed first.
    #[must_use]
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }

    /// Sets how long a job waits for others that use the same cache. Default: a minute.
    #[must_use]
    pub fn max_wait(mut self, max_wait: Duration) -> Self {
        self.max_wait = max_wait;
        self
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the name of the project.
    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    /// Returns the budget of all archives together in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.budget
    }

    pub(super) fn longest_wait(&self) -> Duration {
        self.max_wait
    }
}
