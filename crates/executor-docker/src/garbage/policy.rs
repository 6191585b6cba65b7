//! The rules, as a function of what there is.

use super::ItemKind;
use super::item::{KeepReason, RemovalReason, Verdict};
use super::layers::Footprint;
use crate::config::policy::Pattern;
use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

/// How much room what jobs brought into an engine may take, and for how long. The default takes nothing away.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    /// How many bytes it may have together. Default: any number.
    pub disk: Option<u64>,
    /// How long a thing is kept that no job uses. Default: for ever.
    pub unused_for: Option<Duration>,
    /// Images that stay whatever the rest says, as patterns of their names.
    pub keep_images: Vec<Pattern>,
}

impl Budget {
    /// Returns whether there is nothing that it could take away.
    pub fn is_unlimited(&self) -> bool {
        self.disk.is_none() && self.unused_for.is_none()
    }
}

/// A thing in an engine that a job has used.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) kind: ItemKind,
    pub(crate) name: String,
    /// What it has; of a volume only how much.
    pub(crate) footprint: Footprint,
    pub(crate) used: SystemTime,
    /// Why it cannot go, whatever is decided.
    pub(crate) stays: Option<KeepReason>,
}

impl Candidate {
    /// Returns whether it counts: whether its room would be free if nobody used it.
    fn counts(&self) -> bool {
        !matches!(
            self.stays,
            Some(KeepReason::NotOurs | KeepReason::OtherName(_) | KeepReason::Kept)
        )
    }
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// How many bytes what is ours has, what several have counted once.
    pub(crate) held: u64,
    /// What becomes of each candidate, in their order.
    pub(crate) verdicts: Vec<Verdict>,
    /// Those that go, in the order in which they do.
    pub(crate) order: Vec<usize>,
}

/// Decides what goes: what was not used for too long, and then, until the rest has room, what was used least recently.
///
/// `others` are images that are none of the things; what they have too is not freed.
pub(crate) fn decide(
    things: &[Candidate],
    others: &[Footprint],
    budget: &Budget,
    now: SystemTime,
) -> Decision {
    let mut choice = Selection {
        things,
        others,
        gone: vec![None; things.len()],
        order: Vec::new(),
    };
    let held = choice.held();
    let mut left = held;
    let by_age = oldest_first(things);
    for &index in &by_age {
        let age = age(&things[index], now);
        if things[index].stays.is_none() && budget.unused_for.is_some_and(|limit| age > limit) {
            left = left.saturating_sub(choice.freed(index));
            choice.take(index, RemovalReason::Unused(age));
        }
    }
    while budget.disk.is_some_and(|limit| left > limit) {
        let next = by_age
            .iter()
            .find(|&&index| choice.is_left(index) && choice.freed(index) > 0);
        let Some(&index) = next else { break };
        left = left.saturating_sub(choice.freed(index));
        choice.take(index, RemovalReason::OverBudget);
    }
    let is_full = budget.disk.is_some_and(|limit| left > limit);
    let verdict =
        |(candidate, gone): (&Candidate, &Option<RemovalReason>)| match (gone, &candidate.stays) {
            (Some(because), _) => Verdict::Remove(*because),
            (None, Some(stays)) => Verdict::Keep(stays.clone()),
            (None, None) if budget.is_unlimited() => Verdict::Keep(KeepReason::NoLimit),
            (None, None) if is_full => Verdict::Keep(KeepReason::FreesNothing),
            (None, None) => Verdict::Keep(KeepReason::WithinBudget),
        };
    let verdicts = things.iter().zip(&choice.gone).map(verdict).collect();
    Decision {
        held,
        verdicts,
        order: choice.order,
    }
}

struct Selection<'t> {
    things: &'t [Candidate],
    others: &'t [Footprint],
    gone: Vec<Option<RemovalReason>>,
    order: Vec<usize>,
}

impl Selection<'_> {
    fn is_left(&self, index: usize) -> bool {
        self.gone[index].is_none() && self.things[index].stays.is_none()
    }

    fn take(&mut self, index: usize, because: RemovalReason) {
        self.gone[index] = Some(because);
        self.order.push(index);
    }

    /// Returns what is free when this one goes too.
    fn freed(&self, index: usize) -> u64 {
        let stays =
            |&(other, _): &(usize, &Candidate)| other != index && self.gone[other].is_none();
        let all = self.things.iter().enumerate().filter(stays);
        let stacks = all.map(|(_, candidate)| &candidate.footprint);
        self.things[index]
            .footprint
            .freed(stacks.chain(self.others))
    }

    /// Returns what would be free if all that counts went.
    fn held(&self) -> u64 {
        let mut all = Self {
            gone: vec![None; self.things.len()],
            order: Vec::new(),
            ..*self
        };
        let mut held = 0;
        for (index, candidate) in self.things.iter().enumerate() {
            if candidate.counts() {
                held += all.freed(index);
                all.take(index, RemovalReason::OverBudget);
            }
        }
        held
    }
}

/// Returns the things from the one that was used least recently to that of last; of one time, the large first.
fn oldest_first(things: &[Candidate]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..things.len()).collect();
    order.sort_by_key(|&index| {
        let candidate = &things[index];
        (
            candidate.used,
            Reverse(candidate.footprint.alone()),
            &candidate.name,
        )
    });
    order
}

/// Returns for how long nobody has used a candidate; a clock that was set back makes nothing old.
fn age(candidate: &Candidate, now: SystemTime) -> Duration {
    now.duration_since(candidate.used).unwrap_or_default()
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
