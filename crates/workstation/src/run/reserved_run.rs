//! A run that has what it needs, and no executor yet.

use super::executor::RunExecutor;
use super::local_run::LocalRun;
use super::options::RunOptions;
use super::planning::plan;
use super::start::{ContinuedStart, Start, running_jobs};
use super::supervision::{adopt_leftovers, recover, remove_leftovers, shut_down, supervise};
use crate::error::LocalError;
use crate::history::ContinuationKind;
use crate::history::durations::{JobPlace, Stopwatch};
use crate::history::export;
use crate::history::run_logs::RunLogs;
use crate::history::state::{InPlaceLock, PipelineDir, ProjectState, StateDir};
use crate::project::local_pipeline::LocalPipeline;
use crate::reuse::{self, ProjectReuse};
use crate::run::caches;
use crate::run::children::ReadPipeline;
use crate::run::isolation::{Isolation, Prepared};
use crate::run::resource_groups::{self, MachineResources};
use crate::run::session;
use executor_core::ability::ResumeHandle;
use fail_point::fail_point;
use job_runner::{CacheStore, JobNotes, Sources, StoredArtifacts};
use pipeline::Plan;
use process::{Recovered, Supervisor};
use std::path::Path;
use std::sync::Arc;

/// What all pipelines of a run share.
#[derive(Debug)]
pub(crate) struct RunShared {
    pub(crate) state: StateDir,
    pub(crate) supervisor: Supervisor,
    pub(crate) options: RunOptions,
    /// The logs of all its pipelines.
    pub(crate) logs: RunLogs,
    /// Earlier results, for jobs of the project that the run was started in.
    pub(crate) reuse: Option<Arc<ProjectReuse>>,
}

/// A run that is planned, has a number, a directory and its locks, and lacks an executor.
///
/// What a run creates is recorded before it is created and removed at its end; after a `kill -9` by a
/// guardian process, or else by the next run.
#[derive(Debug)]
pub struct ReservedRun {
    pub(super) shared: Arc<RunShared>,
    pub(super) read: Arc<ReadPipeline>,
    pub(super) plan: Arc<Plan>,
    pub(super) state: ProjectState,
    pub(super) directory: PipelineDir,
    pub(super) start: Start,
    pub(super) sources: Sources,
    pub(super) caches: Option<Arc<dyn CacheStore>>,
    pub(super) resources: Arc<MachineResources>,
    _in_place: Option<InPlaceLock>,
}

impl ReservedRun {
    pub(super) async fn new(
        pipeline: &LocalPipeline,
        state: StateDir,
        options: RunOptions,
    ) -> Result<Self, LocalError> {
        let project = pipeline.project();
        let root = project.root();
        project.check_repository()?;
        // Unknown names are refused before anything is written.
        options.selection.check(pipeline.resolved())?;
        state.create_ignored_in(root)?;
        let resumed = options.continues.as_ref();
        let resumed = resumed.filter(|it| it.kind == ContinuationKind::Resume);
        let runs = state.project(root).runs();
        let resumed = resumed.and_then(|it| Some(runs.find(it.run).ok()?.directory().to_owned()));
        let spared = recover(state.clone(), resumed).await?;
        state.kept_files().recover();
        caches::sweep(&state).await;
        export::sweep(&state.exports());
        let supervisor = supervise(&state)?;
        let reserved = Self::reserve(pipeline, state, options, supervisor.clone(), spared).await;
        if reserved.is_err() {
            shut_down(supervisor).await;
        }
        reserved
    }

    /// Plans the run, and takes its directory and locks.
    async fn reserve(
        pipeline: &LocalPipeline,
        state_dir: StateDir,
        options: RunOptions,
        supervisor: Supervisor,
        spared: Vec<Recovered>,
    ) -> Result<Self, LocalError> {
        let leftovers = adopt_leftovers(spared, &supervisor)?;
        let project = pipeline.project();
        let state = state_dir.project(project.root());
        let resources = Arc::new(resource_groups::of_project(&state_dir, &state)?);
        let sources = Prepared::new(options.isolation, project, &state);
        pipeline.look_ahead();
        if let Prepared::Snapshot(snapshot) = &sources {
            snapshot.check(&supervisor).await?;
        }
        let in_place = match options.isolation {
            Isolation::None => Some(state.lock_in_place()?),
            Isolation::Snapshot(_) | Isolation::Worktree => None,
        };
        let facts = &pipeline.read_pipeline().project_context;
        if options.isolation == Isolation::Worktree && !facts.has_commit()? {
            let root = project.root().to_owned();
            return Err(LocalError::NoCommit { root });
        }
        let (directory, earlier) = match &options.continues {
            Some(continuation) => {
                let (directory, earlier) = state.reopen(continuation)?;
                (directory, Some(earlier))
            }
            None => (state.new_pipeline()?, None),
        };
        let is_new = earlier.is_none();
        let planned = if let Some(session) = &options.session {
            session::begin(&directory, pipeline, &state, session, &supervisor)
                .map(|(plan, found)| (plan, Start::Session(found)))
        } else {
            let plan = plan(directory.id, pipeline, &options, earlier.as_ref());
            plan.and_then(|plan| {
                let Some(earlier) = earlier else {
                    return Ok((plan, Start::New));
                };
                let continued = ContinuedStart::new(
                    earlier, &state_dir, project, &directory, &plan, leftovers,
                )?;
                Ok((plan, Start::Continued(Box::new(continued))))
            })
        };
        if planned.is_err() && is_new {
            // If this fails, it is removed later like a run that is too old.
            if process::remove_tree(&directory.path).is_ok() {
                state.release_id(directory.id);
            }
        }
        let (plan, start) = planned?;
        let plan = Arc::new(plan);
        let logs = RunLogs::default();
        logs.add(directory.path.clone(), start.attempt(), &plan);
        let caches = caches::of_plan(
            &plan,
            &pipeline.read_pipeline().outside,
            &state_dir,
            project.root(),
        )?;
        let reuse = reuse::of_run(&state_dir, &state, &options, &supervisor);
        Ok(Self {
            sources: sources.of_plan(&plan, project),
            shared: Arc::new(RunShared {
                state: state_dir,
                supervisor,
                options,
                logs,
                reuse,
            }),
            read: Arc::clone(pipeline.read_pipeline()),
            plan,
            state,
            directory,
            start,
            caches,
            resources,
            _in_place: in_place,
        })
    }

    /// Lists the files of a snapshot before the first job needs them.
    pub(super) async fn list_ahead(&self) {
        if let Sources::Snapshot(snapshot) = &self.sources {
            snapshot.list_ahead(&self.shared.supervisor.tree()).await;
        }
    }

    /// Returns the jobs that will run.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Returns what the user should know about earlier runs, a line each: how the run that is continued
    /// differs from this one, or where a session has its artifacts from.
    pub fn notes(&self) -> &[String] {
        match &self.start {
            Start::New => &[],
            Start::Continued(continued) => &continued.notes,
            Start::Session(found) => &found.notes,
        }
    }

    /// Returns what starts and ends the run's processes. An executor that is not made by
    /// [`RunExecutor`] gets it from here.
    pub fn supervisor(&self) -> &Supervisor {
        &self.shared.supervisor
    }

    /// Returns where the logs of the jobs will be, also of pipelines that jobs start.
    pub fn logs(&self) -> RunLogs {
        self.shared.logs.clone()
    }

    /// Returns the artifacts of its jobs, without those of pipelines that jobs start.
    pub fn artifacts(&self) -> StoredArtifacts {
        self.state.kept_files().of_run(&self.directory.path)
    }

    /// Returns the directory with the logs of this run.
    pub fn directory(&self) -> &Path {
        &self.directory.path
    }

    /// Resumes the jobs that outlived the killed process, as far as `claim` takes over their
    /// environment. The others start again, unless a script of theirs has ended: these fail.
    pub fn resume_jobs(&mut self, mut claim: impl FnMut(&ResumeHandle) -> bool) {
        if let Start::Continued(continued) = &mut self.start {
            for note in std::mem::take(&mut continued.resumable) {
                if claim(&note.handle) {
                    continued.resumed.push(note);
                } else if note.has_ended_script() {
                    continued.resumed.push(note.without_environment());
                }
            }
        }
    }

    /// Returns the run with an executor for its jobs.
    pub fn executor(mut self, executor: impl Into<RunExecutor>) -> LocalRun {
        // An executor that resumes nothing called it for no job.
        self.resume_jobs(|_| false);
        LocalRun::new(self, executor.into())
    }

    /// Releases what the run reserved, if it does not start: a new one releases its number, too.
    pub async fn release(self) {
        let supervisor = &self.shared.supervisor;
        if !matches!(self.start, Start::Continued(_)) {
            self.discard().await;
        }
        shut_down(supervisor.clone()).await;
    }

    /// Removes the directory of the run, and releases its number.
    async fn discard(&self) {
        let (directory, supervisor) = (&self.directory, &self.shared.supervisor);
        let removed = fail_point!(
            "workstation::session::remove",
            process::remove_tree_off_thread(&directory.path).await
        );
        if removed.is_err() {
            // A later run removes it, as one that is too old.
            return;
        }
        self.state.release_id(directory.id);
        if let Some(journal) = supervisor.journal() {
            // If this fails, a later run looks for a directory that is gone, without harm.
            let _ = journal.forget_dir(&directory.path);
        }
    }

    /// Returns whether the run only enters one job.
    pub(super) fn is_session(&self) -> bool {
        matches!(self.start, Start::Session(_))
    }

    /// Returns whether the run is stored: one without a job, or with one that the user enters, leaves nothing
    /// and releases its number.
    pub(super) fn is_stored(&self) -> bool {
        match self.start {
            Start::New => !self.plan.is_empty(),
            Start::Continued(_) => true,
            Start::Session(_) => false,
        }
    }

    /// Returns the records of jobs that are running.
    pub(super) fn running_jobs(&self) -> JobNotes {
        running_jobs(&self.directory)
    }

    /// Removes what the run no longer needs, releases its locks and records how long its jobs took.
    pub(super) async fn close(self, stopwatch: Arc<Stopwatch>, place: JobPlace) {
        let supervisor = &self.shared.supervisor;
        let is_stored = self.is_stored();
        if let Start::Continued(continued) = &self.start {
            remove_leftovers(&continued.leftovers, supervisor).await;
        }
        if !is_stored {
            self.discard().await;
        }
        shut_down(supervisor.clone()).await;
        let Self {
            directory, state, ..
        } = self;
        drop(directory);
        let tidy = move || {
            if is_stored {
                record_times(&state, &stopwatch, place);
            }
            // What is not removed now is removed after a later run.
            state.prune();
        };
        let _ = tokio::task::spawn_blocking(tidy).await;
    }
}

/// Records how long the jobs took. Nothing depends on it.
fn record_times(state: &ProjectState, stopwatch: &Stopwatch, place: JobPlace) {
    if let Some(times) = stopwatch.times(place)
        && let Err(error) = state.durations().note(&times)
    {
        tracing::debug!(%error, "The times of the jobs are not recorded.");
    }
}
