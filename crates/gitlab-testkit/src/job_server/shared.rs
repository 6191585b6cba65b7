use super::JobServerState;
use crate::world::World;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The state of the job server, shared by its connections, its clock and the test.
pub(crate) struct Shared {
    /// The repositories and the job tokens that may read them.
    pub(crate) world: Arc<World>,
    state: Mutex<JobServerState>,
    changed: Condvar,
    /// Counts changes, for waiting tasks.
    changes: watch::Sender<u64>,
}

impl Shared {
    pub(crate) fn new(world: Arc<World>) -> Self {
        Self {
            world,
            state: Mutex::new(JobServerState::new()),
            changed: Condvar::new(),
            changes: watch::Sender::new(0),
        }
    }

    /// Locks the state for reading.
    pub(crate) fn read(&self) -> MutexGuard<'_, JobServerState> {
        self.state.lock()
    }

    /// Changes the state and notifies all who wait for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut JobServerState) -> T) -> T {
        let mut state = self.state.lock();
        let result = change(&mut state);
        drop(state);
        self.changed.notify_all();
        self.changes.send_modify(|count| *count += 1);
        result
    }

    /// Changes the state without notifying those who wait for a change, which would wake the caller as well.
    pub(crate) fn change_quietly<T>(&self, change: impl FnOnce(&mut JobServerState) -> T) -> T {
        change(&mut self.state.lock())
    }

    /// Returns a receiver that sees every later change.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Blocks until the state fulfils a condition; returns false after `timeout`.
    pub(crate) fn wait_until(
        &self,
        timeout: Duration,
        condition: impl Fn(&JobServerState) -> bool,
    ) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.state.lock();
        while !condition(&state) {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return condition(&state);
            }
        }
        true
    }

    /// Blocks until the next change, or until `deadline`.
    pub(crate) fn wait_for_change(
        &self,
        state: &mut MutexGuard<'_, JobServerState>,
        deadline: Option<Instant>,
    ) {
        match deadline {
            Some(deadline) => {
                self.changed.wait_until(state, deadline);
            }
            None => self.changed.wait(state),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}
