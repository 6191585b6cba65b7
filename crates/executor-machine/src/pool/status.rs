//! The report about the machines of a pool.

use crate::machine::{Machine, State};
use crate::options::PoolOptions;
use crate::policy::{Decision, decide};
use executor_core::counted;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A machine, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineStatus {
    /// Its name.
    pub name: String,
    /// What it is doing.
    pub state: State,
    /// For how long it has been doing that.
    pub age: Duration,
    /// How many jobs it has now.
    pub in_use: u32,
    /// How many it has had, with those.
    pub jobs: u32,
    /// Whether it takes no more jobs.
    pub is_retired: bool,
    /// Why it is there, and what the policy does next.
    pub explanation: String,
}

impl MachineStatus {
    /// Returns what a pool with these options makes of the machines of a [journal](crate::Journal), without a job that waits.
    pub fn of_journal(machines: &BTreeMap<Arc<str>, Machine>, options: &PoolOptions) -> Vec<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let (now, rule) = (
            now.unwrap_or_default(),
            options.schedule.rule_at(Timestamp::now()),
        );
        let all = machines.iter().map(|(name, machine)| (&**name, machine));
        let decision = decide(all.clone(), 0, rule, &options.limits, now);
        let status = all.map(|(name, machine)| Self::new(name, machine, &decision, 0, now));
        status.collect()
    }

    pub(super) fn new(
        name: &str,
        machine: &Machine,
        decision: &Decision<&str>,
        failed_removals: u32,
        now: Duration,
    ) -> Self {
        let Decision {
            expire,
            remove,
            wanted,
            free,
            ..
        } = decision;
        let leaves = expire.iter().find(|(key, _)| *key == name);
        let goes = remove.iter().find(|(key, _)| *key == name);
        let slots = format!("{} wanted, {free} free", counted(wanted, "slot"));
        let explanation = match (machine.state(), machine.retired()) {
            (State::Creating, _) => {
                format!("is being created: {slots}")
            }
            (State::Removing, Some(reason)) if failed_removals > 0 => {
                format!("is being removed, after {failed_removals} failed attempts: {reason}")
            }
            (State::Removing, Some(reason)) => format!("is being removed: {reason}"),
            (State::Acquired | State::Used, Some(reason)) => {
                format!("is removed after its jobs: {reason}")
            }
            (State::Acquired, None) => "is reserved for a job".to_owned(),
            (State::Used, None) if machine.is_suspect() => {
                "has a job, and is checked, since it may be at fault".to_owned()
            }
            (State::Used, None) => "has a job".to_owned(),
            (_, Some(reason)) => format!("is removed next: {reason}"),
            (_, None) if machine.is_suspect() => "is checked, since it may be at fault".to_owned(),
            (_, None) => match (goes, leaves) {
                (Some((_, reason)), _) => format!("is removed next: {reason}"),
                (None, Some((_, end))) => {
                    let left = end.saturating_sub(now).as_secs();
                    format!("is not needed ({slots}), and is removed in {left} s")
                }
                (None, None) => {
                    format!("is kept ready: {slots}")
                }
            },
        };
        Self {
            name: name.to_owned(),
            state: machine.state(),
            age: now.saturating_sub(machine.since()),
            in_use: machine.in_use(),
            jobs: machine.jobs(),
            is_retired: machine.retired().is_some(),
            explanation,
        }
    }
}
