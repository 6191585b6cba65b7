use super::tally::Weight;
use crate::Status;
use pipeline::plan::Plan;

/// How a job counts for the jobs that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needed {
    /// It has not ended.
    Awaited,
    /// It succeeded.
    Passed,
    /// It failed and is allowed to.
    Warned,
    /// It does not run.
    Absent,
    /// It failed.
    Failed,
    /// It was canceled.
    Canceled,
}

impl From<Weight> for Needed {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::Plain(Status::Success) => Self::Passed,
            Weight::Warned => Self::Warned,
            Weight::Ignored | Weight::Plain(Status::Skipped) => Self::Absent,
            Weight::Plain(Status::Failed) => Self::Failed,
            Weight::Plain(Status::Canceled) => Self::Canceled,
            Weight::Plain(_) => Self::Awaited,
        }
    }
}

/// How many of the jobs that one job needs count in which way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Needs {
    awaited: usize,
    warned: usize,
    absent: usize,
    failed: usize,
    canceled: usize,
}

impl Needs {
    /// Returns the needs of a job that waits for `count` others.
    pub(super) fn of(count: usize) -> Self {
        Self {
            awaited: count,
            warned: 0,
            absent: 0,
            failed: 0,
            canceled: 0,
        }
    }

    /// Notes that one of them now counts in another way.
    pub(super) fn change(&mut self, was: Needed, now: Needed) {
        if let Some(count) = self.count(was) {
            *count -= 1;
        }
        if let Some(count) = self.count(now) {
            *count += 1;
        }
    }

    fn count(&mut self, needed: Needed) -> Option<&mut usize> {
        match needed {
            Needed::Awaited => Some(&mut self.awaited),
            Needed::Passed => None,
            Needed::Warned => Some(&mut self.warned),
            Needed::Absent => Some(&mut self.absent),
            Needed::Failed => Some(&mut self.failed),
            Needed::Canceled => Some(&mut self.canceled),
        }
    }

    /// Returns whether one of them failed and is allowed to.
    pub(super) fn has_warned(&self) -> bool {
        self.warned > 0
    }

    /// Returns their joint result, once it is certain.
    ///
    /// A need that does not run makes it certain at once; otherwise all of them must have ended.
    pub(super) fn outcome(&self) -> Option<Status> {
        if self.absent > 0 {
            Some(Status::Skipped)
        } else if self.awaited > 0 {
            None
        } else if self.failed > 0 {
            Some(Status::Failed)
        } else if self.canceled > 0 {
            Some(Status::Canceled)
        } else {
            Some(Status::Success)
        }
    }
}

/// The jobs that need each job, in one list.
#[derive(Debug, Clone)]
pub(super) struct Dependents {
    /// Where each job's dependents begin in the list, and the end of the list.
    starts: Vec<usize>,
    jobs: Vec<usize>,
}

impl Dependents {
    pub(super) fn new(plan: &Plan) -> Self {
        let needs = |at: usize| plan.jobs()[at].needs.iter().flatten().copied();
        let count = plan.jobs().len();
        let mut starts = vec![0; count + 1];
        for needed in (0..count).flat_map(needs) {
            starts[needed + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut free = starts.clone();
        let mut jobs = vec![0; starts[count]];
        for at in 0..count {
            for needed in needs(at) {
                jobs[free[needed]] = at;
                free[needed] += 1;
            }
        }
        Self { starts, jobs }
    }

    /// Returns the jobs that need `job`.
    pub(super) fn of(&self, job: usize) -> &[usize] {
        &self.jobs[self.starts[job]..self.starts[job + 1]]
    }
}
