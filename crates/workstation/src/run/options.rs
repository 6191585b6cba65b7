//! How a pipeline is run.

use super::run_controls::RunControls;
use crate::history::{Continuation, Notices, RunCommand};
use crate::reuse::ReuseOptions;
use crate::run::isolation::Isolation;
use crate::run::session::JobSession;
use executor_core::ActiveJobs;
use job_runner::{ReachableJobs, Visitor, WatchChanges};
use pipeline::Selection;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a pipeline is run. The default runs all of it, on a snapshot of the working tree.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// The selected jobs.
    pub selection: Selection,
    /// How many jobs run at once; `None` means one for each processor.
    pub concurrency: Option<NonZeroU32>,
    /// The longest time for the whole pipeline; `None` means no limit.
    pub timeout: Option<Duration>,
    /// How jobs are separated from each other and from the working tree.
    pub isolation: Isolation,
    /// Whether results of earlier jobs with the same inputs are reused.
    pub reuse: ReuseOptions,
    /// The command that starts the run, for its record.
    pub command: RunCommand,
    /// The earlier run that is continued, in its directory and under its number.
    pub continues: Option<Continuation>,
    /// The runs in which jobs succeeded, by job name. If the selection is
    /// [`among`](pipeline::Selection::among) certain jobs, those that they need are restored from these runs as
    /// long as their artifacts exist.
    pub done: BTreeMap<String, u64>,
    /// Receives lines for the user while the run lasts.
    pub notices: Notices,
    /// Lists the running jobs: keep a clone to see them, or for metrics.
    pub active: ActiveJobs,
    /// Controls its pipelines while they run: keep a clone.
    pub controls: RunControls,
    /// The one job to enter, instead of running the selected ones.
    pub session: Option<JobSession>,
    /// Enters jobs, in place of their scripts or after one failed.
    pub visitor: Option<Arc<dyn Visitor>>,
    /// Lists the running jobs in which a shell can be opened: keep a clone to open one.
    pub reachable_jobs: ReachableJobs,
    /// Whether jobs run without artifacts that they need of other projects, and without the pipelines of projects
    /// that the user's settings do not name. A notice reports each.
    pub ignore_other_projects: bool,
    /// A program that acts as the helper command when it is started as `gitlab-runner`, for executors whose files this
    /// program cannot reach. Default: none.
    pub helper_program: Option<PathBuf>,
    /// The address of this host at which the helper command reaches it. Default: 127.0.0.1.
    pub helper_address: Option<IpAddr>,
    /// Whether to warn about tracked files that a job changes without declaring them.
    pub watch_changes: Option<WatchChanges>,
}
