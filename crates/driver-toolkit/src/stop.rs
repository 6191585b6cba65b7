//! Requests to stop, from a signal or from the runner.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

/// How strongly a stage is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// A script receives `SIGTERM` and may end on its own; any other stage gives up.
    Term,
    /// A script is killed.
    Kill,
}

/// A request to stop that can be waited for; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    shared: Arc<(Mutex<Option<StopLevel>>, Condvar)>,
}

impl Stop {
    /// Returns a request that nothing has made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the request at the first `SIGTERM` or `SIGINT` of this process, and asks to kill at the second.
    ///
    /// # Errors
    ///
    /// When the handlers cannot be installed.
    pub fn on_signals(&self) -> io::Result<()> {
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
        let stop = self.clone();
        // It waits for signals for the rest of the process.
        thread::spawn(move || {
            for _ in signals.forever() {
                stop.request(stop.level().map_or(StopLevel::Term, |_| StopLevel::Kill));
            }
        });
        Ok(())
    }

    /// Makes the request; a weaker one changes nothing.
    pub fn request(&self, level: StopLevel) {
        let (current, changed) = &*self.shared;
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = (*current).max(Some(level));
        changed.notify_all();
    }

    /// Returns the strongest request so far.
    pub fn level(&self) -> Option<StopLevel> {
        *self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request that is stronger than `seen`, and returns the current one; `None` without any.
    pub fn wait(&self, seen: Option<StopLevel>, limit: Duration) -> Option<StopLevel> {
        let (current, changed) = &*self.shared;
        let guard = current.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(guard, limit, |level| *level <= seen);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] at once when there is a request.
    pub fn sleep(&self, duration: Duration) -> Result<(), Failure> {
        match self.wait(None, duration) {
            None => Ok(()),
            Some(_) => Err(Failure::Stopped),
        }
    }
}

/// What every stage is given: the request to stop, its deadline, and its log.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// Ends the stage early.
    pub stop: &'a Stop,
    /// When the stage has to be over.
    pub deadline: Instant,
    log: &'a (dyn Fn(&str) + Sync),
}

impl std::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl<'a> Stage<'a> {
    /// Returns a stage whose lines go to `log`.
    pub fn new(stop: &'a Stop, limit: Duration, log: &'a (dyn Fn(&str) + Sync)) -> Self {
        let deadline = Instant::now() + limit;
        Self {
            stop,
            deadline,
            log,
        }
    }

    /// Returns the same stage with another deadline.
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.deadline = Instant::now() + limit;
        self
    }

    /// Prints a line for the user who reads the job's log.
    ///
    /// A program that serves many jobs prints nothing itself: a runner writes its standard error to the logs of all of them.
    pub fn log(&self, line: impl AsRef<str>) {
        (self.log)(line.as_ref());
    }

    /// Returns the time until the deadline, at most `limit`.
    pub fn remaining(&self, limit: Duration) -> Duration {
        self.deadline
            .saturating_duration_since(Instant::now())
            .min(limit)
    }
}
