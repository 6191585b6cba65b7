//! The numbers that distinguish concurrent jobs.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The concurrency numbers of one running job.
///
/// Directories and containers have them in their names. Consecutive jobs therefore share a directory,
/// and concurrent jobs do not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct JobSlot {
    /// The lowest free number of this runner (`CI_CONCURRENT_ID`).
    pub concurrent_id: u32,
    /// The lowest free number of this runner and project (`CI_CONCURRENT_PROJECT_ID`).
    pub concurrent_project_id: u32,
}

/// The numbers in use on one runner. Clones share them; each worker of the runner holds a clone.
///
/// # Examples
///
/// ```
/// use executor_core::JobSlots;
///
/// let slots = JobSlots::new();
/// let (first, other_project) = (slots.take(1), slots.take(2));
/// assert_eq!(other_project.slot().concurrent_id, 1);
/// assert_eq!(other_project.slot().concurrent_project_id, 0);
///
/// drop(first);
/// assert_eq!(slots.take(1).slot().concurrent_id, 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct JobSlots(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    runner: BTreeSet<u32>,
    /// By project id; a project without a running job is not listed.
    projects: HashMap<u64, BTreeSet<u32>>,
}

/// Reserves the numbers of a job until it is dropped.
#[derive(Debug)]
pub struct JobSlotGuard {
    slots: JobSlots,
    project_id: u64,
    slot: JobSlot,
}

impl JobSlots {
    /// Returns the numbers of a runner without running jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the lowest free numbers of the runner and of the project.
    pub fn take(&self, project_id: u64) -> JobSlotGuard {
        let mut taken = self.lock();
        let slot = JobSlot {
            concurrent_id: take_lowest(&mut taken.runner),
            concurrent_project_id: take_lowest(taken.projects.entry(project_id).or_default()),
        };
        drop(taken);
        JobSlotGuard {
            slots: self.clone(),
            project_id,
            slot,
        }
    }

    /// Takes the numbers of a job that an earlier process began.
    pub fn reserve(&self, project_id: u64, slot: JobSlot) -> JobSlotGuard {
        let mut taken = self.lock();
        taken.runner.insert(slot.concurrent_id);
        let numbers = taken.projects.entry(project_id).or_default();
        numbers.insert(slot.concurrent_project_id);
        drop(taken);
        JobSlotGuard {
            slots: self.clone(),
            project_id,
            slot,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.0.lock()
    }
}

fn take_lowest(taken: &mut BTreeSet<u32>) -> u32 {
    // Without a gap, each number in order equals its index; the first mismatch follows a free number.
    let before_gap = taken
        .iter()
        .zip(0..)
        .take_while(|&(&number, at)| number == at);
    let lowest = before_gap.last().map_or(0, |(_, at)| at + 1);
    taken.insert(lowest);
    lowest
}

impl JobSlotGuard {
    /// Returns the numbers.
    pub fn slot(&self) -> JobSlot {
        self.slot
    }
}

impl Drop for JobSlotGuard {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.runner.remove(&self.slot.concurrent_id);
        if let Some(numbers) = taken.projects.get_mut(&self.project_id) {
            numbers.remove(&self.slot.concurrent_project_id);
            if numbers.is_empty() {
                taken.projects.remove(&self.project_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(guard: &JobSlotGuard) -> (u32, u32) {
        let slot = guard.slot();
        (slot.concurrent_id, slot.concurrent_project_id)
    }

    #[test]
    fn takes_the_lowest_free_numbers_of_runner_and_project() {
        let slots = JobSlots::new();
        let mut guards: Vec<_> = [1, 1, 2].map(|project| slots.take(project)).into();
        guards.push(slots.clone().take(1));
        let all: Vec<_> = guards.iter().map(numbers).collect();
        assert_eq!(all, [(0, 0), (1, 1), (2, 0), (3, 2)]);
        drop(guards.remove(1));
        let last = slots.take(2);
        assert_eq!(numbers(&last), (1, 1));
        drop(guards);
        assert_eq!(numbers(&slots.take(1)), (0, 0));
        assert_eq!(numbers(&slots.take(2)), (0, 0));
    }

    #[test]
    fn numbers_of_an_earlier_process_are_not_taken_again() {
        let slots = JobSlots::new();
        let slot = JobSlot {
            concurrent_id: 1,
            concurrent_project_id: 0,
        };
        let reserved = slots.reserve(7, slot);
        let all = [slots.take(7), slots.take(7)];
        assert_eq!(all.each_ref().map(numbers), [(0, 1), (2, 2)]);
        drop((reserved, all));
        assert_eq!(numbers(&slots.take(7)), (0, 0));
    }

    #[test]
    fn removes_projects_without_jobs() {
        let slots = JobSlots::new();
        for project in 0..100 {
            assert_eq!(numbers(&slots.take(project)), (0, 0));
        }
        let taken = slots.lock();
        assert!(taken.runner.is_empty() && taken.projects.is_empty());
    }
}
