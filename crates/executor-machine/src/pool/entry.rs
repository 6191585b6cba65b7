//! A machine with what its owner needs to know of it.

use crate::driver::DriverError;
use crate::journal::Journal;
use crate::machine::{Machine, Reason, State};
use executor_core::{Endpoint, chain};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The longest pause after a failed check: the machine takes no jobs meanwhile.
const FAILED_CHECK_PAUSE: Duration = Duration::from_secs(5);

/// The shortest pause after a failure, and between two checks.
pub(super) const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// For how long after a check, or a job whose environment was there, a machine counts as one that answers.
const FRESH: Duration = Duration::from_secs(5);

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
    /// The jobs that begin there if it answers.
    pub(super) verifying: Vec<oneshot::Sender<bool>>,
    /// When it answered last: to a check, or to a job.
    pub(super) checked: Duration,
    pub(super) failed_checks: u32,
    pub(super) failed_removals: u32,
    /// When a removal is tried again.
    pub(super) removable: Duration,
    /// How an earlier process left it, until it is ready again.
    pub(super) restored: Option<Machine>,
    /// Slots whose jobs are an earlier process's, which nothing has continued yet.
    pub(super) orphans: u32,
    /// Until when they are kept.
    pub(super) orphans_until: Duration,
    /// As it is in the journal.
    pub(super) noted: Option<Machine>,
}

impl Entry {
    pub(super) fn new(machine: Machine, now: Duration) -> Self {
        Self {
            machine,
            endpoint: None,
            is_busy: false,
            doubted: Vec::new(),
            doubted_in_check: 0,
            verifying: Vec::new(),
            checked: now,
            failed_checks: 0,
            failed_removals: 0,
            removable: Duration::ZERO,
            restored: None,
            orphans: 0,
            orphans_until: Duration::ZERO,
            noted: None,
        }
    }

    /// Makes it what it was before. Its jobs are kept for `limit`, to be continued.
    pub(super) fn restore(&mut self, restored: &Machine, now: Duration, limit: Duration) {
        self.machine = restored.restored(now);
        self.orphans = self.machine.in_use();
        self.orphans_until = now.saturating_add(limit);
    }

    /// Returns the machine as a next process is to find it.
    pub(super) fn as_left(&self) -> &Machine {
        self.restored.as_ref().unwrap_or(&self.machine)
    }

    /// Writes a change into the journal.
    pub(super) fn note(&mut self, name: &str, journal: &mut Journal) {
        let machine = self.as_left();
        if self.noted.as_ref() != Some(machine) {
            journal.note(name, Some(machine));
            self.noted = Some(machine.clone());
        }
    }

    /// Gives up the jobs of an earlier process: the machine is removed with what is left of them.
    pub(super) fn give_up_orphans(&mut self, now: Duration) {
        if self.orphans > 0 {
            self.machine.retire(Reason::LostJob);
        }
        for _ in 0..std::mem::take(&mut self.orphans) {
            self.machine.end(now);
        }
    }

    /// Returns when the machine is to be checked; `None` while nothing asks for it.
    pub(super) fn check_due(&self, interval: Duration) -> Option<Duration> {
        if !self.doubted.is_empty() || !self.verifying.is_empty() {
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

    /// Answers whether it can have a job: at once if that is known, else after a check.
    pub(super) fn verify(&mut self, reply: oneshot::Sender<bool>, now: Duration) {
        let answers = if self.machine.retired().is_some() || self.machine.is_suspect() {
            false
        } else if now < self.checked.saturating_add(FRESH) {
            true
        } else {
            return self.verifying.push(reply);
        };
        // One that is not received is of a job that was stopped.
        let _ = reply.send(answers);
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
        for reply in self.verifying.drain(..) {
            let _ = reply.send(checked.is_ok());
        }
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
