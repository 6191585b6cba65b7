use super::refusal::Refusal;
use crate::error::LocalError;
use crate::history::state::{InPlaceLock, PipelineDir, ProjectState, StateError};
use crate::history::{Continuation, ContinuationKind, ContinuedRun, DownstreamRuns, ParentOfRun};
use crate::project::local_project::LocalProject;
use crate::run::RunShared;
use crate::run::isolation::{self, Isolation, Prepared};
use executor_core::FailureReason;
use job_runner::Sources;
use parking_lot::{Mutex, MutexGuard};
use scheduler::EventSink;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The most pipelines that one may have below it, as in GitLab.
const MAX_PIPELINES: usize = 1000;

/// The pipelines of a run, and what they share.
#[derive(Debug)]
pub(crate) struct PipelineTree {
    pub(super) run: Arc<RunShared>,
    /// The name of the executor.
    pub(super) executor: String,
    /// Takes the events of all pipelines.
    pub(super) events: Arc<dyn EventSink>,
    /// How the pipelines of the earlier run are continued.
    continues: Option<(ContinuationKind, Arc<DownstreamRuns>)>,
    /// The highest number of a pipeline. Ids of jobs follow from it, and no two jobs of a run may have the
    /// same, even in different projects.
    last_id: AtomicU64,
    pipelines: AtomicUsize,
    /// The numbers of the earlier pipelines that are continued.
    continued: Mutex<HashSet<u64>>,
    /// By the roots of their working trees.
    downstream_projects: Mutex<HashMap<PathBuf, DownstreamProject>>,
}

/// Another project that jobs of the run work with.
#[derive(Debug)]
struct DownstreamProject {
    sources: Sources,
    _in_place: Option<InPlaceLock>,
}

impl PipelineTree {
    /// Returns the tree of a run whose first pipeline has this number.
    pub(crate) fn new(
        run: Arc<RunShared>,
        executor: String,
        events: Arc<dyn EventSink>,
        continues: Option<(ContinuationKind, Arc<DownstreamRuns>)>,
        first_id: u64,
    ) -> Self {
        // Any pipeline of the earlier run may still be continued under its number.
        let earlier = continues.as_ref();
        let earlier = earlier.map_or(0, |(_, downstream)| downstream.highest());
        Self {
            run,
            executor,
            events,
            continues,
            last_id: AtomicU64::new(first_id.max(earlier)),
            pipelines: AtomicUsize::new(0),
            continued: Mutex::default(),
            downstream_projects: Mutex::default(),
        }
    }

    /// Counts one more pipeline, up to the limit.
    pub(super) fn admit(&self) -> Result<(), Refusal> {
        if self.pipelines.fetch_add(1, Ordering::Relaxed) < MAX_PIPELINES {
            return Ok(());
        }
        let message = format!("a pipeline has at most {MAX_PIPELINES} others below it");
        let reason = FailureReason::ReachedMaxPipelineHierarchySize;
        Err(Refusal::new(reason, message))
    }

    /// Creates the directory of a pipeline, with a number that is unique in this run.
    pub(super) fn new_pipeline(&self, state: &ProjectState) -> Result<PipelineDir, StateError> {
        // One number at a time, since the next must be higher.
        let _projects = self.lock();
        let directory = state.new_pipeline_above(self.last_id.load(Ordering::Relaxed))?;
        self.last_id.fetch_max(directory.id, Ordering::Relaxed);
        Ok(directory)
    }

    /// Opens the directory of the pipeline that a job started in the earlier run, to continue it; `None`
    /// if there is none, or it is continued already.
    pub(super) fn earlier_pipeline(
        &self,
        project: &Path,
        state: &ProjectState,
        parent: &ParentOfRun,
    ) -> Result<Option<(PipelineDir, ContinuedRun)>, LocalError> {
        let Some((kind, downstream)) = &self.continues else {
            return Ok(None);
        };
        let Some(run) = downstream.started_by(project, parent) else {
            return Ok(None);
        };
        if !self.continued.lock().insert(run.id()) {
            return Ok(None);
        }
        self.last_id.fetch_max(run.id(), Ordering::Relaxed);
        let continuation = Continuation {
            run: run.id(),
            variables: Vec::new(),
            kind: kind.of_pipeline(run.id()),
        };
        let (directory, mut earlier) = state.reopen(&continuation)?;
        earlier.find_unfinished(downstream, project, run.id(), kind);
        Ok(Some((directory, earlier)))
    }

    /// Returns where the jobs of another project get its files from.
    pub(super) fn sources_of(
        &self,
        project: &LocalProject,
        state: &ProjectState,
    ) -> Result<Sources, StateError> {
        let mut projects = self.lock();
        if let Some(known) = projects.get(project.root()) {
            return Ok(known.sources.clone());
        }
        let isolation = self.run.options.isolation;
        let in_place = match isolation {
            Isolation::None => Some(state.lock_in_place()?),
            Isolation::Snapshot(_) | Isolation::Worktree => None,
        };
        let sources = Prepared::new(isolation, project, state).for_many(project);
        let new = DownstreamProject {
            sources: sources.clone(),
            _in_place: in_place,
        };
        projects.insert(project.root().to_owned(), new);
        Ok(sources)
    }

    /// Removes what was kept for the jobs of other projects.
    pub(crate) async fn discard(&self) {
        let projects = std::mem::take(&mut *self.lock());
        for project in projects.values() {
            isolation::discard(&project.sources).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, DownstreamProject>> {
        self.downstream_projects.lock()
    }
}
