use super::course::Span;
use jiff::Timestamp;
use scheduler::CriticalStep;
use std::time::Duration;

/// What is to be expected of a run, seen from a moment in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// How long the run will have taken in all.
    pub total: Duration,
    /// How much of that is left.
    pub left: Duration,
    /// When it will be over.
    pub end: Timestamp,
    /// The places of the jobs that are going to run, or do, of which is not known how long they take:
    /// as if they took no time.
    pub unknown: Vec<usize>,
    /// The places of the jobs that run and have taken longer already than they usually do: as if they
    /// ended now.
    pub late: Vec<usize>,
    /// When each job became ready, began and ended, or will, by its place.
    pub jobs: Vec<Span>,
    /// The chain of jobs that decides how long it takes, the first one first.
    pub path: Vec<CriticalStep>,
}

impl Outlook {
    /// Returns whether it may well take longer, since something that takes time is not in it.
    pub fn is_at_least(&self) -> bool {
        !self.unknown.is_empty() || !self.late.is_empty()
    }
}
