//! One run of a project's pipeline on this machine.

use super::options::RunOptions;
use super::planning::plan;
use super::supervision::{end, recover, remove_left, supervise, take_left};
use crate::error::LocalError;
use crate::history::durations::{Expectations, JobPlace, Stopwatch};
use crate::history::export;
use crate::history::logs::RunLogs;
use crate::history::state::{InPlaceLock, PipelineDir, ProjectState, StateDir};
use crate::history::{
    ContinuationKind, ControlServer, Earlier, Family, Journal, RunControlHandler, RunRecord,
    RunSituation, RunsError, forget_told, tell_older,
};
use crate::project::local_pipeline::LocalPipeline;
use crate::project::local_project::LocalProject;
use crate::reuse::ProjectReuse;
use crate::run::caches;
use crate::run::children::ReadPipeline;
use crate::run::isolation::{self, Isolation};
use crate::run::resource_groups::MachineResources;
use crate::run::session::Found;
use executor_core::ability::ResumeHandle;
use executor_core::{Cancellation, ExecutorProvider};
use fail_point::fail_point;
use job_runner::{CacheStore, JobNote, JobNotes, Sources};
use pipeline::Plan;
use process::{Supervisor, TempDir};
use scheduler::{Driver, EventSink, PipelineReport};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the provider may take to give up what it has ready for further jobs.
const SHUTDOWN: Duration = Duration::from_mins(1);

/// A pipeline that is ready to run.
///
/// Whatever the run makes is recorded before it is made, and removed at its end; after a `kill -9`
/// by a guardian process, or else by the next run.
#[derive(Debug)]
pub struct LocalRun {
    pub(super) project: LocalProject,
    pub(super) plan: Arc<Plan>,
    pub(super) read: Arc<ReadPipeline>,
    pub(super) options: RunOptions,
    pub(super) sources: Sources,
    pub(super) caches: Option<Arc<dyn CacheStore>>,
    pub(super) supervisor: Supervisor,
    pub(super) state_dir: StateDir,
    pub(super) state: ProjectState,
    pub(super) directory: PipelineDir,
    pub(super) earlier: Option<Earlier>,
    /// For the how manieth time it is begun.
    pub(super) life: u32,
    pub(super) notes: Vec<String>,
    pub(super) resources: Arc<MachineResources>,
    pub(super) reuse: Option<Arc<ProjectReuse>>,
    pub(super) logs: RunLogs,
    /// What the run had started that is gone on with.
    pub(super) family: Arc<Family>,
    /// What earlier runs left for the one job that is entered.
    pub(super) found: Option<Found>,
    /// Where its running jobs are noted.
    pub(super) notes_of_jobs: JobNotes,
    /// The jobs of its earlier life that may still run, and after the claim those that are gone on with.
    pub(super) left_jobs: Vec<JobNote>,
    /// Directories that those need, to be removed at the end.
    pub(super) left_builds: Vec<PathBuf>,
    pub(super) are_claimed: bool,
    pub(super) _in_place: Option<InPlaceLock>,
}

impl LocalRun {
    /// Plans a run and reserves what it needs. It starts with ending what dead runs have left.
    ///
    /// # Errors
    ///
    /// When there is no repository, the selection names what there is not, a job would mean
    /// something else here, another run works in the same tree in place, or the state cannot be
    /// written.
    pub async fn prepare(
        project: LocalProject,
        pipeline: &LocalPipeline,
        state: &StateDir,
        options: RunOptions,
    ) -> Result<Self, LocalError> {
        let root = project.root().to_owned();
        refuse_without_repository(&root)?;
        // A name that is not there is found out before anything is written.
        options.selection.check(pipeline.resolved())?;
        state.make_unseen_in(&root)?;
        let resumed = options.continues.as_ref();
        let resumed = resumed.filter(|it| it.kind == ContinuationKind::Resume);
        let runs = state.project(&root).runs();
        let resumed = resumed.and_then(|it| Some(runs.find(it.run).ok()?.directory().to_owned()));
        let spared = recover(state.clone(), resumed).await?;
        state.kept_files().recover();
        caches::sweep(state).await;
        export::sweep(&state.exports());
        let supervisor = supervise(state)?;
        let prepared = async {
            let left = take_left(spared, &supervisor)?;
            let mut run =
                Self::reserve(project, pipeline, state, options, supervisor.clone()).await?;
            run.left_builds = left;
            Ok(run)
        };
        let prepared = prepared.await;
        if prepared.is_err() {
            end(supervisor).await;
        }
        prepared
    }

    /// Plans a run without reserving anything, to show what would run.
    ///
    /// # Errors
    ///
    /// When there is no repository, the selection names what there is not, or a job would mean
    /// something else here.
    pub fn preview(
        project: &LocalProject,
        pipeline: &LocalPipeline,
        options: &RunOptions,
    ) -> Result<Plan, LocalError> {
        refuse_without_repository(project.root())?;
        plan(1, pipeline, options, None)
    }

    /// Returns what is going to run.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Returns what starts the run's processes; give it to the executor.
    pub fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Returns what is not as it was when the run began that is gone on with, a line each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Says which environments may be gone on with that an earlier process left of running jobs: those that
    /// `claim` says are there, and nobody else's. All others are forgotten; without this call that is all.
    pub fn go_on_with(&mut self, mut claim: impl FnMut(&ResumeHandle) -> bool) {
        self.left_jobs.retain(|note| claim(&note.handle));
        self.are_claimed = true;
    }

    /// Returns where the logs of the jobs will be, those of pipelines that jobs start too.
    pub fn logs(&self) -> RunLogs {
        self.logs.clone()
    }

    /// Returns the directory with the logs of this run.
    pub fn directory(&self) -> &Path {
        &self.directory.path
    }

    /// Returns what is to be expected of the run with an executor of this kind, by earlier runs.
    pub fn expectations(&self, executor: &str) -> Expectations {
        let place = self.place(executor);
        Expectations::read(&self.state.durations(), &place, self.concurrency())
    }

    fn place(&self, executor: &str) -> JobPlace {
        JobPlace {
            executor: executor.to_owned(),
            in_place: self.options.isolation == Isolation::None,
        }
    }

    /// Runs the pipeline; `executor` is the name of the provider's kind. At the end the provider is shut down.
    ///
    /// # Errors
    ///
    /// When the run could not begin. Whatever happens to jobs is in the report.
    ///
    /// # Cancellation
    ///
    /// `cancel` ends the running jobs gracefully, `abort` at once; both are awaited to the end.
    pub async fn execute(
        mut self,
        executor: &str,
        provider: Arc<dyn ExecutorProvider>,
        events: Arc<dyn EventSink>,
        cancellation: &Cancellation,
    ) -> Result<PipelineReport, LocalError> {
        let stopwatch = Arc::new(Stopwatch::new(self.plan.id(), events));
        let events: Arc<dyn EventSink> = Arc::clone(&stopwatch) as _;
        let place = self.place(executor);
        if !self.are_claimed {
            self.left_jobs.clear();
        }
        let report = match self.begin(executor, Arc::clone(&events)) {
            Ok((builds, journal)) => {
                let pipeline_tree = self.pipeline_tree(executor, events);
                let sink: Arc<dyn EventSink> = Arc::clone(&journal) as _;
                let jobs = Arc::clone(&provider);
                let mut driver = self.driver(executor, jobs, sink, &builds);
                driver.downstream = Some(Arc::new(self.downstream(&pipeline_tree)));
                let report = self.drive(driver, cancellation).await;
                // What it has ready for further jobs has directories below the builds.
                if let Err(error) = provider.shutdown(SHUTDOWN).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "Something is left for the next run to remove."
                    );
                }
                isolation::discard(&self.sources).await;
                pipeline_tree.discard().await;
                if let Err(error) = builds.remove().await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "A build directory stays for the next run to remove."
                    );
                }
                journal.settle();
                Ok(report)
            }
            Err(error) => Err(error),
        };
        let Self {
            supervisor,
            state,
            directory,
            found,
            left_builds,
            ..
        } = self;
        remove_left(&left_builds, &supervisor).await;
        if found.is_some() {
            discard(&directory, &supervisor).await;
        }
        end(supervisor).await;
        drop(directory);
        let is_session = found.is_some();
        let tidy = move || {
            if !is_session {
                note_times(&state, &stopwatch, place);
            }
            // What is not removed this time is removed the next.
            state.prune();
        };
        let _ = tokio::task::spawn_blocking(tidy).await;
        report
    }

    /// Writes down what is asked for, before anything starts.
    fn begin(
        &self,
        executor: &str,
        events: Arc<dyn EventSink>,
    ) -> Result<(TempDir, Arc<Journal>), LocalError> {
        let directory = &self.directory.path;
        if let Some(earlier) = &self.earlier {
            forget_told(directory);
            tracing::debug!(
                run = self.directory.id,
                kind = earlier.kind.as_str(),
                "Goes on."
            );
        } else if self.found.is_none() {
            let record = RunRecord::new(
                &self.plan,
                self.project.root(),
                self.project.file(),
                &self.options.selection,
                executor,
                &self.options.command,
            );
            record.write(directory)?;
        }
        let forgotten = self.notes_of_jobs.retain(&self.left_jobs);
        forgotten.map_err(RunsError::io("remove", directory.join("running")))?;
        let kind = self.earlier.as_ref().map(|earlier| &earlier.kind);
        let journal = Journal::begin(directory, &self.plan, kind, events)?;
        let builds = self.supervisor.temp_dir(directory, "builds-")?;
        Ok((builds, Arc::new(journal)))
    }

    /// Runs the jobs, and listens meanwhile to who tells the run what to do.
    async fn drive(&self, driver: Driver, cancellation: &Cancellation) -> PipelineReport {
        let stop = cancellation.child();
        let obedient = Arc::new(RunControlHandler {
            plan: Arc::clone(&self.plan),
            controls: driver.controls.clone(),
            stop: Some(stop.clone()),
            notices: self.options.notices.clone(),
        });
        let server = ControlServer::bind(&self.directory.path);
        if let Err(error) = &server {
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "Nobody can play jobs of this run or cancel it from outside."
            );
        }
        let run = async {
            let run = driver.run(Arc::clone(&self.plan), &stop);
            tokio::join!(run, self.tell_older()).0
        };
        match &server {
            Ok(server) => tokio::select! {
                report = run => report,
                never = server.serve(obedient) => match never {},
            },
            Err(_) => run.await,
        }
    }

    /// Tells older runs of the same ref that there is a newer commit, as GitLab would. Whoever goes on
    /// with an earlier run has none.
    async fn tell_older(&self) {
        if self.earlier.is_none() && self.found.is_none() {
            let situation = RunSituation::of(&self.plan);
            let (runs, notices) = (self.state.runs(), &self.options.notices);
            tell_older(&runs, self.directory.id, &situation, notices).await;
        }
    }
}

/// Removes what a run left that is not written down.
async fn discard(directory: &PipelineDir, supervisor: &Supervisor) {
    let removed = fail_point!(
        "runwright::session::remove",
        process::remove_tree_off_thread(&directory.path).await
    );
    if removed.is_ok()
        && let Some(journal) = supervisor.journal()
    {
        // Should this fail, there is one more directory to look for that is gone.
        let _ = journal.forget_dir(&directory.path);
    }
}

/// Writes down how long the jobs took. Nothing depends on it.
fn note_times(state: &ProjectState, stopwatch: &Stopwatch, place: JobPlace) {
    if let Some(times) = stopwatch.times(place)
        && let Err(error) = state.durations().note(&times)
    {
        tracing::debug!(%error, "The times of the jobs are not noted.");
    }
}

fn refuse_without_repository(root: &Path) -> Result<(), LocalError> {
    if git::toplevel(root).is_some() {
        return Ok(());
    }
    let directory = root.to_owned();
    Err(git::RepositoryError::None { directory }.into())
}
