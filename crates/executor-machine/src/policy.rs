//! The decision: which machines are created, kept and removed.
//!
//! [`decide`] is a pure function of the machines, the settings and the time, and so are its users: the pool calls it after
//! each event, a simulation with a virtual time, a test with made-up ones. See `docs/design/machines.md`.

use crate::machine::{Machine, Reason, State};
use crate::schedule::Rule;
use std::time::Duration;

/// The limits of the machines. 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many machines there may be, in all states: `limit`, `max_instances`.
    pub machines: u32,
    /// How many are created at the same time: `MaxGrowthRate`.
    pub growth: u32,
    /// How many jobs a machine has at the same time: `capacity_per_instance`.
    pub slots: u32,
    /// How many jobs a machine has in its life: `MaxBuilds`, `max_use_count`.
    pub jobs: u32,
    /// For how long a creation counts as a machine that will come. Default: 15 minutes.
    pub creation: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            machines: 0,
            growth: 0,
            slots: 1,
            jobs: 0,
            creation: Duration::from_mins(15),
        }
    }
}

impl Limits {
    /// Returns how many more jobs a machine may have that has had this many.
    pub(crate) fn jobs_left(&self, jobs: u32) -> u32 {
        match self.jobs {
            0 => u32::MAX,
            limit => limit.saturating_sub(jobs),
        }
    }
}

/// What is to be done now, and what happens later without another event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<K> {
    /// How many machines to create.
    pub create: u32,
    /// Which machines to remove, and why.
    pub remove: Vec<(K, Reason)>,
    /// Which machines are not needed and are removed at these times, the earliest first.
    pub expire: Vec<(K, Duration)>,
    /// How many slots are to be free, with those for waiting jobs.
    pub wanted: u32,
    /// How many are.
    pub free: u32,
}

/// Decides what to do with the machines. `waiting` is the number of jobs that wait for a slot.
///
/// - Without a free slot for each that is wanted, machines are created, within the limits.
/// - A machine without a job is removed when it is retired, when there are too many, or when the others have enough free
///   slots and it was idle for `idle_time`. The one that has been idle for the longest goes first.
///
/// A machine with a job, or reserved for one, is never removed. Nothing that is decided makes the opposite decision true.
pub fn decide<'m, K: Copy + Ord>(
    machines: impl Iterator<Item = (K, &'m Machine)>,
    waiting: u32,
    rule: &Rule,
    limits: &Limits,
    now: Duration,
) -> Decision<K> {
    let (mut total, mut creating, mut expected, mut removing) = (0_u32, 0_u32, 0_u32, 0_u32);
    let (mut in_use, mut free) = (0_u32, 0_u32);
    let mut remove = Vec::new();
    let mut idle = Vec::new();
    for (key, machine) in machines {
        total += 1;
        in_use = in_use.saturating_add(machine.in_use());
        let slots = machine.free(limits);
        free = free.saturating_add(slots);
        match (machine.state(), machine.retired()) {
            (State::Creating, _) => {
                creating += 1;
                let age = now.saturating_sub(machine.since());
                expected += u32::from(age < limits.creation);
            }
            (State::Removing, _) => removing += 1,
            (State::Idle, Some(reason)) => remove.push((key, reason)),
            // The settings may have changed.
            (State::Idle, None) if limits.jobs_left(machine.jobs()) == 0 => {
                remove.push((key, Reason::TooManyJobs));
            }
            (State::Idle, None) => idle.push((machine.since(), key, slots)),
            (State::Acquired | State::Used, _) => {}
        }
    }
    let wanted = rule.wanted(in_use).saturating_add(waiting);
    idle.sort_unstable();

    let mut idle = idle.into_iter();
    if limits.machines > 0 {
        let going = removing as usize + remove.len();
        let excess = (total as usize - going).saturating_sub(limits.machines as usize);
        for (_, key, slots) in idle.by_ref().take(excess) {
            remove.push((key, Reason::TooManyMachines));
            free -= slots;
        }
    }
    let mut expire = Vec::new();
    let mut kept = free;
    for (since, key, slots) in idle {
        if kept < wanted.saturating_add(slots) {
            continue;
        }
        kept -= slots;
        let end = since.saturating_add(rule.idle_time);
        if end <= now {
            remove.push((key, Reason::TooManyIdle));
            free -= slots;
        } else {
            expire.push((key, end));
        }
    }

    let slots_of_new = limits.slots.min(limits.jobs_left(0)).max(1);
    let coming = free.saturating_add(expected.saturating_mul(slots_of_new));
    let needed = wanted.saturating_sub(coming).div_ceil(slots_of_new);
    let room = |limit: u32, used: u32| match limit {
        0 => u32::MAX,
        limit => limit.saturating_sub(used),
    };
    let create = needed
        .min(room(limits.machines, total))
        .min(room(limits.growth, creating));
    Decision {
        create,
        remove,
        expire,
        wanted,
        free,
    }
}

#[cfg(test)]
mod tests;
