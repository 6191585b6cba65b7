//! Which of several providers hold capacity for a job.

use executor_core::ExecutorData;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What one of several providers has reserved for a job.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// Which provider it is.
    pub(crate) provider: usize,
    /// What its `acquire` returned.
    pub(crate) data: ExecutorData,
}

/// All that is reserved for a job; the last provider runs it, those before it have failed.
///
/// It rides in the data of the job, so that `release` gives back whatever is still there, also when
/// a call in between panicked.
#[derive(Debug, Default)]
pub(crate) struct AllHeld(Mutex<Vec<Held>>);

impl AllHeld {
    pub(crate) fn new(first: Held) -> Self {
        Self(Mutex::new(vec![first]))
    }

    /// Returns what the provider that runs the job has reserved.
    pub(crate) fn current(&self) -> Option<Held> {
        self.lock().last().cloned()
    }

    pub(crate) fn add(&self, next: Held) {
        self.lock().push(next);
    }

    /// Takes one that is no longer needed.
    pub(crate) fn take_failed(&self) -> Option<Held> {
        let mut all = self.lock();
        (all.len() > 1).then(|| all.remove(0))
    }

    /// Takes one, whatever it is.
    pub(crate) fn take(&self) -> Option<Held> {
        self.lock().pop()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
