//! A machine with what its owner needs to know of it.

use crate::driver::DriverError;
use crate::machine::{Machine, Reason, State};
use executor_core::{Endpoint, chain};
use std::sync::Arc;
use std::time::Duration;

/// The longest pause after a failed check: the machine takes no jobs meanwhile.
const FAILED_CHECK_PAUSE: Duration = Duration::from_secs(5);

/// The shortest pause after a failure, and between two checks.
pub(super) const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// A machine, and how far the driver is with it.
pub(super) struct Entry {
    pub(super) machine: Machine,
    pub(super) endpoint: Option<Arc<Endpoint>>,
    /// Whether the driver is busy with it.
    pub(super) is_busy: bool,
    /// Slots that become free after a check: whether each had a job.
    pub(super) doubted: Vec<bool>,
    /// How many of these the check in progress is for.
    pub(super) doubted_in_check: usize,
    /// Of the last check.
    pub(super) checked: Duration,
    pub(super) failed_checks: u32,
    pub(super) failed_removals: u32,
    /// When a removal is tried again.
    pub(super) removable: Duration,
}

impl Entry {
    pub(super) fn new(machine: Machine, now: Duration) -> Self {
        Self {
            machine,
            endpoint: None,
            is_busy: false,
            doubted: Vec::new(),
            doubted_in_check: 0,
            checked: now,
            failed_checks: 0,
            failed_removals: 0,
            removable: Duration::ZERO,
        }
    }

    /// Returns when the machine is to be checked; `None` while nothing asks for it.
    pub(super) fn check_due(&self, interval: Duration) -> Option<Duration> {
        if !self.doubted.is_empty() {
            return Some(Duration::ZERO);
        }
        if self.machine.retired().is_some() {
            return None;
        }
        let pause = if self.machine.is_suspect() {
            interval.min(FAILED_CHECK_PAUSE)
        } else if self.machine.state() == State::Idle {
            interval
        } else {
            return None;
        };
        Some(self.checked + pause.max(SHORTEST_PAUSE))
    }

    /// Frees a slot.
    pub(super) fn free(&mut self, had_job: bool, now: Duration) {
        if had_job {
            self.machine.end(now);
        } else {
            self.machine.release(now);
        }
    }

    pub(super) fn checked(
        &mut self,
        name: &str,
        checked: Result<(), DriverError>,
        threshold: u32,
        now: Duration,
    ) {
        self.is_busy = false;
        self.checked = now;
        let doubted = std::mem::take(&mut self.doubted_in_check);
        match checked {
            Ok(()) => {
                self.failed_checks = 0;
                self.machine.suspect(doubted < self.doubted.len());
            }
            Err(error) => {
                self.failed_checks += 1;
                self.machine.suspect(true);
                let error = chain(&error);
                tracing::warn!(
                    machine = name,
                    failures = self.failed_checks,
                    error,
                    "A machine does not answer."
                );
                if doubted > 0 || self.failed_checks >= threshold {
                    self.machine.retire(Reason::Unavailable);
                }
            }
        }
        for had_job in self.doubted.drain(..doubted).collect::<Vec<_>>() {
            self.free(had_job, now);
        }
    }
}
