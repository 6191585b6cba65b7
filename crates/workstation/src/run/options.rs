//! How a pipeline is run.

use super::run_controls::RunControls;
use crate::history::{Continuation, Notices, RunCommand};
use crate::reuse::ReuseOptions;
use crate::run::isolation::Isolation;
use crate::run::session::JobSession;
use executor_core::ActiveJobs;
use job_runner::{Terminals, Visitor, WatchChanges};
use pipeline::Selection;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

/// How a pipeline is run. The default runs all of it, on a snapshot of the working tree.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Which jobs.
    pub selection: Selection,
    /// How many jobs run at once; `None` means as many as there are processors.
    pub concurrency: Option<NonZeroU32>,
    /// The longest the whole pipeline may take; `None` means any time.
    pub timeout: Option<Duration>,
    /// What keeps jobs apart from each other and from the working tree.
    pub isolation: Isolation,
    /// Whether jobs are taken from earlier runs that began with the same.
    pub reuse: ReuseOptions,
    /// The command that asks for the run, so that it can be asked again.
    pub command: RunCommand,
    /// The earlier run that is gone on with, in its directory and under its number.
    pub continues: Option<Continuation>,
    /// In which runs jobs ended well, by their names. Where a selection is
    /// [`among`](pipeline::Selection::among) certain jobs, others that these need do not run once more if
    /// what they left is still there.
    pub done: BTreeMap<String, u64>,
    /// Takes what people should read while the run goes on.
    pub notices: Notices,
    /// Where the jobs are listed while they run: keep a clone to see them, or to tell metrics.
    pub active: ActiveJobs,
    /// What tells its pipelines what to do while they run: keep a clone.
    pub controls: RunControls,
    /// The one job that is entered, instead of all that are selected.
    pub session: Option<JobSession>,
    /// Who enters jobs, in place of their scripts or after one that failed.
    pub visitor: Option<Arc<dyn Visitor>>,
    /// Where the jobs are listed that shells can be opened in: keep a clone to open them.
    pub terminals: Terminals,
    /// Whether a warning says which tracked files a job has changed without declaring them.
    pub watch_changes: Option<WatchChanges>,
}
