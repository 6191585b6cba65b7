//! The budget, and the rules that decide what to remove, as pure functions.

use super::ItemKind;
use super::item::{KeepReason, RemovalReason, Verdict};
use super::layers::Footprint;
use crate::config::policy::Pattern;
use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

/// The limits of images and volumes that jobs brought into an engine. The default removes nothing.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    /// The limit of bytes together. Default: none.
    pub disk: Option<u64>,
    /// How long an unused item is kept. Default: forever.
    pub unused_for: Option<Duration>,
    /// Images to keep in any case, as patterns of their names.
    pub keep_images: Vec<Pattern>,
}

impl Budget {
    /// Returns whether there is no limit.
    pub fn is_unlimited(&self) -> bool {
        self.disk.is_none() && self.unused_for.is_none()
    }
}

/// An image or volume that a job has used.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) kind: ItemKind,
    pub(crate) name: String,
    /// Its layers and bytes.
    pub(crate) footprint: Footprint,
    pub(crate) used: SystemTime,
    /// Why it cannot be removed, whatever the budget.
    pub(crate) stays: Option<KeepReason>,
}

impl Candidate {
    /// Returns whether its bytes count against the budget: whether they could be freed if unused.
    fn counts(&self) -> bool {
        !matches!(
            self.stays,
            Some(KeepReason::NotOurs | KeepReason::OtherName(_) | KeepReason::Kept)
        )
    }
}

/// The decisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The bytes of our items, shared ones counted once.
    pub(crate) held: u64,
    /// The verdict about each candidate, in their order.
    pub(crate) verdicts: Vec<Verdict>,
    /// The candidates to remove, in order.
    pub(crate) order: Vec<usize>,
}

/// Decides what to remove: candidates unused for too long, then the least recently used ones until the rest is within
/// the budget.
///
/// `others` are images that are not candidates; bytes shared with them are not freed.
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

    /// Returns the bytes that the removal of this one frees.
    fn freed(&self, index: usize) -> u64 {
        let stays =
            |&(other, _): &(usize, &Candidate)| other != index && self.gone[other].is_none();
        let all = self.things.iter().enumerate().filter(stays);
        let stacks = all.map(|(_, candidate)| &candidate.footprint);
        self.things[index]
            .footprint
            .freed(stacks.chain(self.others))
    }

    /// Returns the bytes that would be free if all counting candidates were removed.
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

/// Returns the candidates from the least recently used one; with equal times, the largest first.
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

/// Returns how long a candidate is unused; zero when the clock was set back.
fn age(candidate: &Candidate, now: SystemTime) -> Duration {
    now.duration_since(candidate.used).unwrap_or_default()
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
