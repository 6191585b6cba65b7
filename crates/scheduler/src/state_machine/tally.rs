use crate::Status;

/// How a job counts in the status of a group of jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// By its status.
    Plain(Status),
    /// It failed or was canceled and is allowed to: success with a warning.
    Warned,
    /// It is manual and optional.
    Ignored,
}

impl Weight {
    /// Returns the weight of a job in this state; `may_fail` also makes a manual job ignorable.
    pub(super) fn of(status: Status, may_fail: bool) -> Self {
        match status {
            Status::Failed | Status::Canceled if may_fail => Self::Warned,
            Status::Manual if may_fail => Self::Ignored,
            status => Self::Plain(status),
        }
    }

    /// Returns whether the jobs behind this one wait for it.
    pub(super) fn is_awaited(self) -> bool {
        match self {
            Self::Plain(status) => !status.is_final(),
            Self::Warned | Self::Ignored => false,
        }
    }

    fn slot(self) -> usize {
        match self {
            Self::Plain(status) => status as usize,
            Self::Warned => Tally::WARNED,
            Self::Ignored => Tally::IGNORED,
        }
    }
}

/// The number of jobs of each weight in a stage or a pipeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    counts: [usize; Self::SLOTS],
    awaited: usize,
}

impl Tally {
    const WARNED: usize = Status::Scheduled as usize + 1;
    const IGNORED: usize = Self::WARNED + 1;
    const SLOTS: usize = Self::IGNORED + 1;

    /// Returns the tally of `count` jobs of which none has begun.
    pub(super) fn of_created(count: usize) -> Self {
        let mut tally = Self::default();
        tally.counts[Status::Created as usize] = count;
        tally.awaited = count;
        tally
    }

    fn add(&mut self, weight: Weight) {
        self.counts[weight.slot()] += 1;
        self.awaited += usize::from(weight.is_awaited());
    }

    fn remove(&mut self, weight: Weight) {
        self.counts[weight.slot()] -= 1;
        self.awaited -= usize::from(weight.is_awaited());
    }

    /// Counts one of the jobs in another way.
    pub(super) fn change(&mut self, was: Weight, now: Weight) {
        self.remove(was);
        self.add(now);
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.awaited += other.awaited;
    }

    pub(super) fn remove_all(&mut self, other: &Self) {
        for (count, fewer) in self.counts.iter_mut().zip(other.counts) {
            *count -= fewer;
        }
        self.awaited -= other.awaited;
    }

    /// Returns whether the jobs behind the group wait for one of its jobs.
    pub(super) fn is_awaited(&self) -> bool {
        self.awaited > 0
    }

    /// Returns whether one of the jobs failed and is allowed to.
    pub(super) fn has_warned(&self) -> bool {
        self.counts[Self::WARNED] > 0
    }

    /// Returns whether one of the jobs counts with this status.
    pub(super) fn has(&self, status: Status) -> bool {
        self.counts[status as usize] > 0
    }

    /// Returns the status of the group; the order of the rules is GitLab's.
    pub(super) fn status(&self) -> Status {
        use Status::{
            Canceled, Canceling, Created, Failed, Manual, Pending, Running, Scheduled, Skipped,
            Success, WaitingForResource,
        };
        let total: usize = self.counts.iter().sum();
        let only = |statuses: &[Status], passed: &[usize]| {
            let plain: usize = statuses
                .iter()
                .map(|&status| self.counts[status as usize])
                .sum();
            let passed: usize = passed.iter().map(|&slot| self.counts[slot]).sum();
            plain + passed == total
        };
        let passed = [Self::WARNED, Self::IGNORED];
        if total == 0 {
            Success
        } else if only(&[Skipped], &[Self::IGNORED]) {
            Skipped
        } else if only(&[Success, Skipped], &passed) {
            Success
        } else if only(&[Created], &passed) {
            Created
        } else if only(&[Canceled, Success, Skipped], &passed) {
            Canceled
        } else if only(&[Pending, Created, Skipped], &passed) {
            Pending
        } else if self.has(Running) || self.has(Pending) {
            Running
        } else if self.has(WaitingForResource) {
            WaitingForResource
        } else if self.has(Manual) {
            Manual
        } else if self.has(Scheduled) {
            Scheduled
        } else if self.has(Created) {
            Running
        } else if self.has(Canceling) {
            Canceling
        } else {
            Failed
        }
    }
}
