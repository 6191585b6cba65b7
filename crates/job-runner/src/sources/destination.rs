//! Where the files of a job are copied to.

use executor_core::Cancellation;
use process::{ProcessTree, Supervisor};
use std::path::Path;

/// A job's directory to fill.
#[derive(Debug)]
pub(crate) struct Destination<'p> {
    pub(crate) project: &'p Path,
    pub(crate) builds: &'p Path,
    pub(crate) lifetime: Lifetime,
    /// Whether the job sees later mounts there.
    pub(crate) sees_mounts: bool,
    pub(crate) supervisor: &'p Supervisor,
    pub(crate) processes: &'p ProcessTree,
    pub(crate) cancellation: &'p Cancellation,
}

/// How long a job's directory exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Until the end of the job.
    Job,
    /// Beyond the end of the job.
    Kept,
}
