//! A run whose jobs run.

use super::local_run::LocalRun;
use super::restore::RestoreRunner;
use super::runner::{RunnerParts, runner_of};
use super::start::Start;
use crate::error::LocalError;
use crate::history::{
    ControlServer, JobHistory, Journal, RunControlHandler, RunRecord, RunSituation, RunsError,
    forget_reported, products, supersede_older_runs,
};
use crate::run::children::{LocalDownstream, PipelineTree};
use crate::run::isolation;
use executor_core::cancellation::ABORT_GRACE;
use executor_core::{Cancellation, JobVariable, RunnerConfig};
use process::TempDir;
use scheduler::ResourceGroups;
use scheduler::{Driver, EventSink, PipelineReport};
use std::sync::Arc;
use std::time::Duration;

/// How long a canceled job may take to end: a user waits for it at the terminal.
const GRACE: Duration = Duration::from_secs(10);

/// How long the provider may take to release what it prepared for further jobs: machines of a cloud take minutes.
const SHUTDOWN: Duration = Duration::from_mins(5);

/// A run whose record and journal are written.
pub(super) struct RunningPipeline<'r> {
    run: &'r LocalRun,
    journal: Arc<Journal>,
    builds: TempDir,
    pipeline_tree: Arc<PipelineTree>,
}

impl<'r> RunningPipeline<'r> {
    /// Records the run, before any job starts.
    pub(super) fn start(run: &'r LocalRun, events: Arc<dyn EventSink>) -> Result<Self, LocalError> {
        run.provider.init()?;
        let reserved = &run.reserved;
        let options = &reserved.shared.options;
        let directory = reserved.directory();
        let mut kind = None;
        let mut resumed = [].as_slice();
        match &reserved.start {
            // Without a record, nothing lists the run, and it is removed also if it is killed.
            Start::New if !reserved.is_stored() => {}
            Start::New => {
                let record = RunRecord::new(
                    &reserved.plan,
                    reserved.read.project(),
                    &options.selection,
                    &run.executor,
                    &options.command,
                );
                record.write(directory)?;
            }
            Start::Continued(continued) => {
                forget_reported(directory);
                let run = reserved.directory.id;
                kind = Some(&continued.run.kind);
                resumed = continued.resumed.as_slice();
                tracing::debug!(run, ?kind, "Continues.");
            }
            Start::Session(_) => {}
        }
        let notes = reserved.running_jobs();
        let forgotten = notes.retain(resumed);
        forgotten.map_err(RunsError::io("remove", directory.join("running")))?;
        let plan = Arc::clone(&reserved.plan);
        let journal = Journal::begin(directory, plan, kind, notes, Arc::clone(&events))?;
        let builds = reserved.supervisor().temp_dir(directory, "builds-")?;
        let continued = reserved.start.continued();
        let pipeline_tree = PipelineTree::new(
            Arc::clone(&reserved.shared),
            run.executor.clone(),
            events,
            continued.map(|it| (it.run.kind.of_children(), Arc::clone(&it.downstream))),
            reserved.directory.id,
        );
        Ok(Self {
            run,
            journal: Arc::new(journal),
            builds,
            pipeline_tree: Arc::new(pipeline_tree),
        })
    }

    /// Runs the jobs, and removes what was created for them.
    pub(super) async fn run(self, cancellation: &Cancellation) -> PipelineReport {
        let report = self.drive(self.driver(), cancellation).await;
        // Before the builds: what it prepared for further jobs has directories below them.
        let deadline = if cancellation.is_aborted() {
            ABORT_GRACE
        } else {
            SHUTDOWN
        };
        let shutdown = self.run.provider.shutdown(deadline);
        let ended = cancellation.unless_aborted(ABORT_GRACE, shutdown).await;
        match ended {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "The executor leaves something for the next run to remove."
            ),
            None => tracing::warn!("The executor was ended; what it holds may remain."),
        }
        isolation::discard(&self.run.reserved.sources).await;
        self.pipeline_tree.discard().await;
        if let Err(error) = self.builds.remove().await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "A build directory stays for the next run to remove."
            );
        }
        self.journal.settle();
        report
    }

    /// Returns the driver of the jobs, with all that they may use.
    fn driver(&self) -> Driver {
        let run = self.run;
        let reserved = &run.reserved;
        let options = &reserved.shared.options;
        let directory = reserved.directory();
        let (above, resumed) = match &reserved.start {
            Start::New => (&[][..], &[][..]),
            Start::Continued(continued) => (&[][..], continued.resumed.as_slice()),
            Start::Session(found) => (found.stores.as_slice(), &[][..]),
        };
        let runner = runner_of(&RunnerParts {
            run: &reserved.shared,
            is_session: reserved.is_session(),
            sources: &reserved.sources,
            directory,
            attempt: reserved.start.attempt(),
            state: &reserved.state,
            above,
            caches: reserved.caches.clone(),
            notes: Some(reserved.running_jobs()),
            resumed: resumed.to_vec(),
        });
        let runner = RestoreRunner::wrap(
            runner,
            &reserved.plan,
            directory,
            &options.done,
            options.selection.among.as_ref(),
            &reserved.state.runs(),
            reserved.state.kept_files(),
        );
        let mut config = RunnerConfig::new("local", &run.executor);
        // Jobs of this host are built there; other executors may mount it into their jobs.
        config.host_builds_dir = Some(self.builds.path().display().to_string());
        let reads = reserved.sources.host_reads().into_iter();
        // A path that is not text cannot be passed on.
        config.host_reads = reads
            .filter_map(|it| it.into_os_string().into_string().ok())
            .collect();
        let runner_id = reserved.state.runner_id().to_string();
        config
            .environment
            .push(JobVariable::public("CI_RUNNER_ID", runner_id));
        config.output_limit = u64::MAX;
        config.graceful_kill_timeout = GRACE;
        let provider = Arc::clone(&run.provider);
        let journal: Arc<dyn EventSink> = Arc::clone(&self.journal) as _;
        let mut driver = Driver::new(provider, runner, Arc::new(config), journal);
        driver.active = options.active.clone();
        driver.controls = options.controls.first().clone();
        options.controls.add(&reserved.plan, &driver.controls);
        driver.concurrency = run.concurrency();
        driver.timeout = options.timeout;
        driver.resources = Arc::clone(&reserved.resources) as Arc<dyn ResourceGroups>;
        driver.downstream = Some(Arc::new(LocalDownstream::new(
            Arc::clone(&self.pipeline_tree),
            Arc::clone(&reserved.read),
            reserved.state.clone(),
            reserved.sources.clone(),
            directory.to_owned(),
            &reserved.plan,
        )));
        match &reserved.start {
            Start::New => {}
            Start::Continued(continued) => {
                let kept = reserved.state.kept_files().of_run(directory);
                let left = |job: &JobHistory| products(&reserved.plan, &kept, job);
                driver.progress = Arc::new(continued.run.progress(left));
            }
            Start::Session(found) => driver.progress = Arc::new(found.progress.clone()),
        }
        driver
    }

    /// Runs the jobs, and meanwhile serves the run's control socket.
    async fn drive(&self, driver: Driver, cancellation: &Cancellation) -> PipelineReport {
        let reserved = &self.run.reserved;
        let stop = cancellation.child();
        let handler = Arc::new(RunControlHandler {
            plan: Arc::clone(&reserved.plan),
            controls: driver.controls.clone(),
            stop: Some(stop.clone()),
            notices: reserved.shared.options.notices.clone(),
        });
        let run = async {
            let run = driver.run(Arc::clone(&reserved.plan), &stop);
            tokio::join!(run, self.supersede_older_runs()).0
        };
        match ControlServer::bind(reserved.directory()) {
            Ok(server) => tokio::select! {
                report = run => report,
                never = server.serve(handler) => match never {},
            },
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "No other command can play jobs of this run or cancel it."
                );
                run.await
            }
        }
    }

    /// Reports the newer commit to older runs of the same ref, which may cancel themselves as in GitLab.
    async fn supersede_older_runs(&self) {
        let reserved = &self.run.reserved;
        if matches!(reserved.start, Start::New) && reserved.is_stored() {
            let situation = RunSituation::of(&reserved.plan);
            let (runs, notices) = (reserved.state.runs(), &reserved.shared.options.notices);
            supersede_older_runs(&runs, reserved.directory.id, &situation, notices).await;
        }
    }
}
