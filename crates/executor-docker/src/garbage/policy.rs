//! The rules, as a function of what there is.

use super::item::{Because, Stays, Verdict};
use super::layers::Stack;
use super::{Budget, ItemKind};
use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

/// A thing in an engine that a job has used.
#[derive(Debug, Clone)]
pub(crate) struct Thing {
    pub(crate) kind: ItemKind,
    pub(crate) name: String,
    /// What it has; of a volume only how much.
    pub(crate) stack: Stack,
    pub(crate) used: SystemTime,
    /// Why it cannot go, whatever is decided.
    pub(crate) stays: Option<Stays>,
}

impl Thing {
    /// Returns whether it counts: whether its room would be free if nobody used it.
    fn counts(&self) -> bool {
        !matches!(
            self.stays,
            Some(Stays::NotOurs | Stays::OtherName(_) | Stays::Kept)
        )
    }
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    /// How many bytes what is ours has, what several have counted once.
    pub(crate) held: u64,
    /// What becomes of each thing, in their order.
    pub(crate) verdicts: Vec<Verdict>,
    /// Those that go, in the order in which they do.
    pub(crate) order: Vec<usize>,
}

/// Decides what goes: what was not used for too long, and then, until the rest has room, what was used least recently.
///
/// `others` are images that are none of the things; what they have too is not freed.
pub(crate) fn decide(
    things: &[Thing],
    others: &[Stack],
    budget: &Budget,
    now: SystemTime,
) -> Decision {
    let mut choice = Choice {
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
            choice.take(index, Because::Unused(age));
        }
    }
    while budget.disk.is_some_and(|limit| left > limit) {
        let next = by_age
            .iter()
            .find(|&&index| choice.is_left(index) && choice.freed(index) > 0);
        let Some(&index) = next else { break };
        left = left.saturating_sub(choice.freed(index));
        choice.take(index, Because::OverBudget);
    }
    let is_full = budget.disk.is_some_and(|limit| left > limit);
    let verdict = |(thing, gone): (&Thing, &Option<Because>)| match (gone, &thing.stays) {
        (Some(because), _) => Verdict::Goes(*because),
        (None, Some(stays)) => Verdict::Stays(stays.clone()),
        (None, None) if budget.is_unlimited() => Verdict::Stays(Stays::NoLimit),
        (None, None) if is_full => Verdict::Stays(Stays::FreesNothing),
        (None, None) => Verdict::Stays(Stays::WithinBudget),
    };
    let verdicts = things.iter().zip(&choice.gone).map(verdict).collect();
    Decision {
        held,
        verdicts,
        order: choice.order,
    }
}

struct Choice<'t> {
    things: &'t [Thing],
    others: &'t [Stack],
    gone: Vec<Option<Because>>,
    order: Vec<usize>,
}

impl Choice<'_> {
    fn is_left(&self, index: usize) -> bool {
        self.gone[index].is_none() && self.things[index].stays.is_none()
    }

    fn take(&mut self, index: usize, because: Because) {
        self.gone[index] = Some(because);
        self.order.push(index);
    }

    /// Returns what is free when this one goes too.
    fn freed(&self, index: usize) -> u64 {
        let stays = |&(other, _): &(usize, &Thing)| other != index && self.gone[other].is_none();
        let all = self.things.iter().enumerate().filter(stays);
        let stacks = all.map(|(_, thing)| &thing.stack);
        self.things[index].stack.freed(stacks.chain(self.others))
    }

    /// Returns what would be free if all that counts went.
    fn held(&self) -> u64 {
        let mut all = Self {
            gone: vec![None; self.things.len()],
            order: Vec::new(),
            ..*self
        };
        let mut held = 0;
        for (index, thing) in self.things.iter().enumerate() {
            if thing.counts() {
                held += all.freed(index);
                all.take(index, Because::OverBudget);
            }
        }
        held
    }
}

/// Returns the things from the one that was used least recently to that of last; of one time, the large first.
fn oldest_first(things: &[Thing]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..things.len()).collect();
    order.sort_by_key(|&index| {
        let thing = &things[index];
        (thing.used, Reverse(thing.stack.alone()), &thing.name)
    });
    order
}

/// Returns for how long nobody has used a thing; a clock that was set back makes nothing old.
fn age(thing: &Thing, now: SystemTime) -> Duration {
    now.duration_since(thing.used).unwrap_or_default()
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
