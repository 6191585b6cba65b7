//! Machines and jobs of an earlier process.

use super::entry::{Entry, SHORTEST_PAUSE};
use super::owner::{Answer, Owner, backoff};
use super::{Lease, TakeError};
use crate::journal::Journal;
use crate::machine::{Machine, Reason, State};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How many machines are made ready again at once.
pub(super) const AT_ONCE: usize = 32;

/// The longest pause before another attempt to reach a machine that has jobs.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often a machine that has jobs is tried.
const ATTEMPTS: u32 = 8;

/// Returns whether a machine with this name belongs to the pool with this prefix.
pub fn is_name_of(prefix: &str, name: &str) -> bool {
    let rest = name.strip_prefix(prefix);
    let Some((seconds, number)) = rest.and_then(|it| it.split_once('-')) else {
        return false;
    };
    let is_number = seconds.bytes().all(|byte| byte.is_ascii_digit());
    is_number && number.len() == 8 && u32::from_str_radix(number, 16).is_ok()
}

impl Owner {
    /// Takes the machines that the driver has, and those that the journal has.
    pub(super) fn take_over(&mut self, names: Vec<String>, now: Duration) {
        let journal = self.journal.as_mut();
        let mut earlier = journal.map(Journal::take_earlier).unwrap_or_default();
        let listed: BTreeSet<Arc<str>> = names.into_iter().map(Arc::from).collect();
        for name in listed {
            if !self.is_own(&name) {
                continue;
            }
            let known = earlier.remove(&name);
            tracing::info!(
                machine = &*name,
                "A machine of an earlier process is taken over."
            );
            self.take(name, known, now);
        }
        // The driver does not list them, or not yet: a removal makes sure.
        for (name, known) in earlier {
            let reason = known.retired().unwrap_or(Reason::Unavailable);
            self.insert_removing(name, known, reason, now);
        }
    }

    fn take(&mut self, name: Arc<str>, known: Option<Machine>, now: Duration) {
        let machine = match &known {
            Some(known) => known.returning(now),
            None => Machine::found(now),
        };
        if !self.closing.is_empty() && self.options.remove_on_shutdown {
            return self.insert_removing(name, machine, Reason::Shutdown, now);
        }
        let has_jobs = machine.in_use() > 0;
        let reason = match known.as_ref().and_then(Machine::retired) {
            None if self.options.limits.jobs_left(machine.jobs()) == 0 => Some(Reason::TooManyJobs),
            reason => reason,
        };
        let is_removing = known.as_ref().map(Machine::state) == Some(State::Removing);
        if let Some(reason) = reason.filter(|_| is_removing || !has_jobs) {
            return self.insert_removing(name, machine, reason, now);
        }
        let mut entry = Entry::new(machine, now);
        entry.is_busy = true;
        // One whose creation had not ended is new.
        entry.restored = known.filter(|it| it.state() != State::Creating);
        self.machines.insert(Arc::clone(&name), entry);
        let creation = self.creation(&name);
        let permits = Arc::clone(&self.takeovers);
        let attempts = if has_jobs { ATTEMPTS } else { 1 };
        self.work.spawn(async move {
            let _permit = permits.acquire_owned().await;
            let mut failures = 0;
            loop {
                let created = creation.run().await;
                failures += 1;
                if created.is_ok() || failures == attempts {
                    return Answer::Created(name, created);
                }
                sleep(backoff(SHORTEST_PAUSE, failures, LONGEST_PAUSE)).await;
            }
        });
    }

    fn insert_removing(
        &mut self,
        name: Arc<str>,
        mut machine: Machine,
        reason: Reason,
        now: Duration,
    ) {
        machine.remove(now, reason);
        self.machines.insert(name, Entry::new(machine, now));
    }

    /// Returns whether this is a new name of a machine of this pool.
    fn is_own(&self, name: &str) -> bool {
        !self.machines.contains_key(name) && is_name_of(&self.options.prefix, name)
    }

    /// Returns how many jobs of an earlier process wait to be continued.
    pub(super) fn orphans(&self) -> u32 {
        let entries = self.machines.values();
        let counts = entries.map(|entry| match &entry.restored {
            Some(restored) => restored.in_use(),
            None => entry.orphans,
        });
        counts.sum()
    }

    /// Hands jobs of an earlier process their machines, and gives up those that nothing continues. Returns when it is to be called
    /// again at the latest.
    pub(super) fn step_returning(&mut self, now: Duration) -> Duration {
        let mut next = now + Duration::from_hours(1);
        for (name, waiter) in std::mem::take(&mut self.returning) {
            if waiter.reply.is_closed() {
                continue;
            }
            let entry = self.machines.get_mut(&name);
            let is_coming =
                !self.is_listed || entry.as_ref().is_some_and(|it| it.restored.is_some());
            if is_coming && now < waiter.until {
                next = next.min(waiter.until);
                self.returning.push((name, waiter));
                continue;
            }
            let endpoint = entry.and_then(|entry| {
                entry.orphans = entry.orphans.checked_sub(1)?;
                entry.endpoint.clone()
            });
            let lease = match endpoint {
                Some(endpoint) => Ok(Lease::new(&name, endpoint, true, &self.sender)),
                None => Err(TakeError::Gone(name.to_string())),
            };
            // One that is not received is dropped, which ends its job.
            let _ = waiter.reply.send(lease);
        }
        for (name, entry) in &mut self.machines {
            if entry.orphans == 0 {
                continue;
            }
            if entry.orphans_until > now {
                next = next.min(entry.orphans_until);
                continue;
            }
            tracing::warn!(
                machine = &**name,
                jobs = entry.orphans,
                "Jobs of an earlier process were not continued; their machine is removed."
            );
            entry.give_up_orphans(now);
        }
        next
    }

    /// Writes what has changed.
    pub(super) fn write_journal(&mut self) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        for (name, entry) in &mut self.machines {
            entry.note(name, journal);
        }
        if journal.is_due(self.machines.len()) {
            let all = self.machines.iter();
            journal.rewrite(all.map(|(name, entry)| (&**name, entry.as_left())));
        }
    }
}
