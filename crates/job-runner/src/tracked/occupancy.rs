use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the jobs in one directory, so that each knows whether it was alone there.
#[derive(Debug, Default)]
pub(crate) struct Occupancy {
    started: AtomicU64,
    ended: AtomicU64,
}

/// A counted job, which leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Occupant<'c> {
    occupancy: &'c Occupancy,
    /// The number of jobs started so far, this one included.
    number: u64,
    came_alone: bool,
}

impl Occupancy {
    /// Counts a job that starts.
    pub(crate) fn enter(&self) -> Occupant<'_> {
        let ended = self.ended.load(Ordering::SeqCst);
        let number = self.started.fetch_add(1, Ordering::SeqCst) + 1;
        Occupant {
            occupancy: self,
            number,
            came_alone: number == ended + 1,
        }
    }
}

impl Occupant<'_> {
    /// Returns whether no other job was in the directory since this one started.
    pub(crate) fn was_alone(&self) -> bool {
        self.came_alone && self.occupancy.started.load(Ordering::SeqCst) == self.number
    }
}

impl Drop for Occupant<'_> {
    fn drop(&mut self) {
        self.occupancy.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_jobs_are_not_alone() {
        let occupancy = Occupancy::default();
        let first = occupancy.enter();
        assert!(first.was_alone());
        let second = occupancy.enter();
        assert!(!first.was_alone() && !second.was_alone());
        drop(first);
        assert!(!second.was_alone());
        drop(second);
        assert!(occupancy.enter().was_alone());
    }
}
