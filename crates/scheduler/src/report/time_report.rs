use std::sync::Arc;
use std::time::Duration;

/// Where the time of a pipeline went, and what was usual before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeReport {
    /// How long it was expected to take, when that was known.
    pub expected: Option<Duration>,
    /// Whether it may well have taken longer than that: of some jobs no time was known.
    pub is_at_least: bool,
    /// The chain of jobs that decided how long it took, the first one first.
    pub path: Vec<CriticalStep>,
    /// The jobs that took longer than usual.
    pub slower: Vec<SlowerJob>,
}

/// A job that took longer than usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowerJob {
    /// The job.
    pub job: String,
    /// How long it took.
    pub took: Duration,
    /// How long it usually does.
    pub usual: Duration,
}

/// A job of the chain that decides how long a run takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalStep {
    /// The job.
    pub job: Arc<str>,
    /// Its place in the plan.
    pub index: usize,
    /// How long it waited after the one before it had ended, or the run began: for a delay, for somebody's
    /// word, or for a worker.
    pub waited: Duration,
    /// How long it took, or will.
    pub took: Duration,
}
