use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the jobs that work in one directory, so that each knows whether it was alone there.
#[derive(Debug, Default)]
pub(crate) struct Company {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A job that is counted; it leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Guest<'c> {
    company: &'c Company,
    /// How many had begun when this one came, itself among them.
    number: u64,
    came_alone: bool,
}

impl Company {
    /// Counts a job that begins.
    pub(crate) fn enter(&self) -> Guest<'_> {
        let ended = self.ended.load(Ordering::SeqCst);
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        Guest {
            company: self,
            number,
            came_alone: number == ended + 1,
        }
    }
}

impl Guest<'_> {
    /// Returns whether no other job was there at any time since it came.
    pub(crate) fn was_alone(&self) -> bool {
        self.came_alone && self.company.begun.load(Ordering::SeqCst) == self.number
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.company.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_had_company_at_any_time_was_not_alone() {
        let company = Company::default();
        let first = company.enter();
        assert!(first.was_alone());
        let second = company.enter();
        assert!(!first.was_alone() && !second.was_alone());
        drop(first);
        assert!(!second.was_alone());
        drop(second);
        assert!(company.enter().was_alone());
    }
}
