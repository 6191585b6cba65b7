use super::refusal::Refusal;
use crate::error::LocalError;
use crate::history::logs::RunLogs;
use crate::history::state::{InPlaceLock, PipelineDir, ProjectState, StateDir, StateError};
use crate::history::{Continuation, ContinuationKind, Earlier, Family, Notices, RunCommand};
use crate::project::local_project::LocalProject;
use crate::reuse::ProjectReuse;
use crate::run::RunControls;
use crate::run::isolation::{self, Isolation, Prepared};
use executor_core::FailureReason;
use job_runner::{Sources, Terminals, Visitor, WatchChanges};
use parking_lot::{Mutex, MutexGuard};
use process::Supervisor;
use scheduler::EventSink;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The most pipelines that one may have below it, as in GitLab.
const MOST_PIPELINES: usize = 1000;

/// What all pipelines of a run share.
#[derive(Debug)]
pub(crate) struct PipelineTree {
    pub(super) options: HouseholdOptions,
    /// The highest number that one of them has. Numbers of jobs follow from it, and no two jobs of a
    /// run may have the same, also if they are of different projects.
    last_id: AtomicU64,
    pipelines: AtomicUsize,
    /// The numbers of those that an earlier run began.
    gone_on_with: Mutex<HashSet<u64>>,
    /// Where the files of other projects come from, by the tops of those.
    downstream_projects: Mutex<HashMap<PathBuf, DownstreamProject>>,
}

/// How the pipelines of a run are run.
#[derive(Debug)]
pub(crate) struct HouseholdOptions {
    /// Where what outlives the run is kept.
    pub(crate) state: StateDir,
    /// What starts processes.
    pub(crate) supervisor: Supervisor,
    /// What keeps jobs apart.
    pub(crate) isolation: Isolation,
    /// The kind of executor.
    pub(crate) executor: String,
    /// The command that asked for the run.
    pub(crate) command: RunCommand,
    /// How an earlier run is gone on with, if one is, and what its jobs had started.
    pub(crate) continues: Option<(ContinuationKind, Arc<Family>)>,
    /// Where the logs of all of them are.
    pub(crate) logs: RunLogs,
    /// Takes what people should read.
    pub(crate) notices: Notices,
    /// What tells all of them what to do.
    pub(crate) controls: RunControls,
    /// What is known to take jobs of the first one's project from earlier runs, if they are.
    pub(crate) reuse: Option<Arc<ProjectReuse>>,
    /// Who enters their jobs.
    pub(crate) visitor: Option<Arc<dyn Visitor>>,
    /// Where their jobs are listed that shells can be opened in.
    pub(crate) terminals: Terminals,
    /// Who asks for a warning about tracked files.
    pub(crate) watch_changes: Option<WatchChanges>,
    /// Takes the events of all of them.
    pub(crate) events: Arc<dyn EventSink>,
}

/// Another project that jobs of the run work with.
#[derive(Debug)]
struct DownstreamProject {
    sources: Sources,
    _in_place: Option<InPlaceLock>,
}

impl PipelineTree {
    /// Returns the tree of a run whose first pipeline has this number.
    pub(crate) fn new(options: HouseholdOptions, first_id: u64) -> Self {
        // Whoever has a number may still be gone on with.
        let below = options.continues.as_ref();
        let below = below.map_or(0, |(_, family)| family.highest());
        Self {
            options,
            last_id: AtomicU64::new(first_id.max(below)),
            pipelines: AtomicUsize::new(0),
            gone_on_with: Mutex::default(),
            downstream_projects: Mutex::default(),
        }
    }

    /// Counts one more pipeline, if there may be one.
    pub(super) fn admit(&self) -> Result<(), Refusal> {
        if self.pipelines.fetch_add(1, Ordering::Relaxed) < MOST_PIPELINES {
            return Ok(());
        }
        let message = format!("a pipeline has at most {MOST_PIPELINES} others below it");
        let reason = FailureReason::ReachedMaxPipelineHierarchySize;
        Err(Refusal::new(reason, message))
    }

    /// Makes the directory of a pipeline, with a number that none of this run has.
    pub(super) fn new_pipeline(&self, state: &ProjectState) -> Result<PipelineDir, StateError> {
        // Numbers are given one at a time: who is second has to know of the first.
        let _guests = self.lock();
        let directory = state.new_pipeline_above(self.last_id.load(Ordering::Relaxed))?;
        self.last_id.fetch_max(directory.id, Ordering::Relaxed);
        Ok(directory)
    }

    /// Opens the directory of the pipeline that a job began before its run was killed or failed, to go
    /// on with it; `None` when there is none, or that was gone on with already.
    pub(super) fn earlier_pipeline(
        &self,
        project: &Path,
        state: &ProjectState,
        parent: (&Path, u64, &str),
    ) -> Result<Option<(PipelineDir, Earlier)>, LocalError> {
        let Some((kind, family)) = &self.options.continues else {
            return Ok(None);
        };
        let Some(run) = family.child(project, parent) else {
            return Ok(None);
        };
        let mut gone_on_with = self.gone_on_with.lock();
        if !gone_on_with.insert(run.id()) {
            return Ok(None);
        }
        self.last_id.fetch_max(run.id(), Ordering::Relaxed);
        let continuation = Continuation {
            run: run.id(),
            variables: Vec::new(),
            kind: kind.of_pipeline(run.id()),
        };
        let (directory, mut earlier) = state.reopen(&continuation)?;
        earlier.look_below(family, project, run.id(), kind);
        Ok(Some((directory, earlier)))
    }

    /// Returns where the jobs of another project take its files from.
    pub(super) fn sources_of(
        &self,
        project: &LocalProject,
        state: &ProjectState,
    ) -> Result<Sources, StateError> {
        let mut downstream_projects = self.lock();
        if let Some(downstream_project) = downstream_projects.get(project.root()) {
            return Ok(downstream_project.sources.clone());
        }
        let in_place = match self.options.isolation {
            Isolation::None => Some(state.lock_in_place()?),
            Isolation::Snapshot(_) | Isolation::Worktree => None,
        };
        let sources = Prepared::new(self.options.isolation, project, state).for_many(project);
        let downstream_project = DownstreamProject {
            sources: sources.clone(),
            _in_place: in_place,
        };
        downstream_projects.insert(project.root().to_owned(), downstream_project);
        Ok(sources)
    }

    /// Removes what was kept for the jobs of other projects.
    pub(crate) async fn discard(&self) {
        let downstream_projects = std::mem::take(&mut *self.lock());
        for downstream_project in downstream_projects.values() {
            isolation::discard(&downstream_project.sources).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, DownstreamProject>> {
        self.downstream_projects.lock()
    }
}
