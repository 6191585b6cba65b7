use crate::directories::{self, Parents};
use crate::early::EarlySources;
use crate::exchange::Exchange;
use crate::finalise::artifact_failed;
use crate::limit::{Expired, Limit};
use crate::log::JobLog;
use crate::options::BuildRunnerOptions;
use crate::panics::{catch_panic, off_thread};
use crate::prepare::Prepared;
use crate::resume::{NoteWriter, ResumedJob};
use crate::runner_processes::RunnerProcesses;
use crate::sources::{Attachment, Lifetime, Sources};
use crate::stages::Stages;
use crate::staging::Staging;
use crate::timeouts::{self, Deadlines, Timeouts};
use crate::variables::{self, Facts};
use executor_core::cancellation::ABORT_GRACE;
use executor_core::job::{ArtifactWhen, Job, JobId, Step};
use executor_core::trace::JobTraceExt;
use executor_core::variable::JobVariables;
use executor_core::{
    ActiveJobGuard, BuildDirs, BuildError, Cancellation, Executor, FailureReason, HumanDuration,
    JobObserver, JobOutcome, JobProducts, RunContext, StageReport, StopLevel, Workspace,
};
use jiff::Timestamp;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// After how long a cleanup is mentioned in the job's log.
const LONG_CLEANUP: Duration = Duration::from_secs(10);

/// One attempt of one job under way.
#[derive(Debug)]
pub(crate) struct Build<'r> {
    pub(crate) options: &'r BuildRunnerOptions,
    pub(crate) processes: Arc<RunnerProcesses>,
    pub(crate) job: Arc<Job>,
    pub(crate) attempt: u32,
    pub(crate) context: RunContext,
    pub(crate) cancellation: Cancellation,
    pub(crate) observer: Arc<dyn JobObserver>,
    pub(crate) log: Arc<JobLog>,
    pub(crate) active: ActiveJobGuard,
    pub(crate) started: Instant,
    pub(crate) started_at: Timestamp,
    /// The time that visitors spent in the job; it does not count as the job's.
    pub(crate) visited: Duration,
    pub(crate) reports: Vec<StageReport>,
    /// Sources that are fetched while the environment is prepared.
    pub(crate) early: Option<EarlySources>,
    /// The mount or the worktree behind the job's directory, once it has its files.
    pub(crate) attachment: Option<Attachment>,
    /// The directory from which files are sent to an environment that this host cannot reach.
    pub(crate) staging: Option<Staging>,
    /// The endpoint for an environment whose files only scripts reach, once it is needed.
    pub(crate) exchange: Option<Exchange>,
    /// The jobs whose artifacts came with the files, in the order of the job's dependencies.
    pub(crate) shown_inputs: Vec<JobId>,
    /// Artifacts and reports of the job.
    pub(crate) products: JobProducts,
    /// The job as an earlier process left it, while it can still be resumed.
    pub(crate) resumed: Option<ResumedJob>,
    /// Records the job for another process.
    pub(crate) note_writer: Option<NoteWriter>,
}

/// The settings of this attempt, from the job and the runner.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The variables known before there is an environment; references are not expanded.
    pub(crate) variables: Arc<JobVariables>,
    pub(crate) timeouts: Timeouts,
    pub(crate) deadlines: Deadlines,
}

impl Settings {
    /// Returns the limit that aborts `stops` at this moment because of the job's timeout.
    pub(crate) fn job_limit(&self, at: Instant, stops: &Cancellation) -> Limit {
        Limit {
            at,
            stops: stops.clone(),
            level: StopLevel::Abort,
            expired: Expired {
                phase: "execution",
                limit: self.timeouts.job,
            },
        }
    }
}

impl Build<'_> {
    /// Runs the job and returns its outcome.
    pub(crate) async fn run(mut self) -> JobOutcome {
        if !self.is_resumed() {
            self.write_header();
        }
        let mut outcome = match self.recorded_outcome() {
            Some(outcome) => outcome,
            None => self.run_in_environment().await,
        };
        if let Err(error) = self.processes.close().await {
            tracing::warn!(job = %self.job.id, error = &error as &dyn std::error::Error, "Processes of the runner remain.");
        }
        self.write_end(&outcome);
        outcome.error = outcome.error.map(|error| self.without_secrets(error));
        outcome.duration = self.elapsed();
        outcome.visited = self.visited;
        outcome.trace = self.log.finish();
        tracing::debug!(job = %self.job.id, state = %outcome.state, "Job finished.");
        outcome
    }

    /// Returns the error with secrets masked: views and reports show it too.
    fn without_secrets(&self, error: Arc<BuildError>) -> Arc<BuildError> {
        let message = error.chain();
        let masked = self.log.masked(&message);
        if masked == message {
            return error;
        }
        Arc::new(BuildError::Recorded {
            reason: error.failure_reason(),
            exit_code: error.exit_code(),
            message: masked,
        })
    }

    async fn run_in_environment(&mut self) -> JobOutcome {
        if let Err(error) = self.discard_artifacts().await {
            return self.outcome(Err(error));
        }
        let mut settings = match self.read_settings() {
            Ok(settings) => settings,
            Err(error) => return self.outcome(Err(error)),
        };
        // Before an earlier process's environment repeats its output, so that secrets are masked there.
        if let Err(error) = self.resolve_secrets(&mut settings).await {
            self.discard_environment(&settings).await;
            return self.outcome(Err(error));
        }
        let prepared = match self.resume(&settings).await {
            Some(prepared) => prepared,
            None => self.prepare(&settings).await,
        };
        let Prepared {
            mut executor,
            environment,
        } = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return self.outcome(Err(error)),
        };
        let workspace = environment.workspace.clone();
        let log = Arc::clone(&self.log);
        let stages = Stages::run(self, &mut *executor, environment, settings);
        let result = catch_panic(&*log, stages).await;
        let outcome = self.outcome(result);
        self.finish(&mut *executor, &outcome).await;
        if let Some(note_writer) = &self.note_writer {
            note_writer.settle(&outcome);
        }
        self.cleanup(&mut *executor).await;
        self.remove_build(&workspace).await;
        outcome
    }

    /// Removes the environment of a job that an earlier process left, and that cannot be resumed.
    async fn discard_environment(&mut self, settings: &Settings) {
        if let Some(Ok(mut prepared)) = self.resume(settings).await {
            self.cleanup(&mut *prepared.executor).await;
            self.remove_build(&prepared.environment.workspace).await;
        }
    }

    /// Removes the artifacts of an earlier attempt: this one may fail before it saves any.
    async fn discard_artifacts(&self) -> Result<(), BuildError> {
        let Some(store) = &self.options.artifacts else {
            return Ok(());
        };
        let discarded = store.discard(self.job.id).await;
        discarded.map_err(|source| {
            artifact_failed(
                "forget the artifacts of an earlier attempt",
                source,
                &self.cancellation,
            )
        })
    }

    fn write_header(&self) {
        let BuildRunnerOptions {
            version, revision, ..
        } = self.options;
        let revision = if revision.is_empty() {
            String::new()
        } else {
            format!(" ({revision})")
        };
        self.log
            .system_line(&format!("Running with runwright {version}{revision}"));
        let config = &self.context.config;
        let token = config.short_token();
        let token = if token.is_empty() {
            String::new()
        } else {
            format!(" {token}")
        };
        self.log.system_line(&format!(
            "  on {}{token}, {} executor",
            config.name, config.executor
        ));
    }

    fn read_settings(&self) -> Result<Settings, BuildError> {
        self.refuse_unsupported()?;
        let job = &*self.job;
        let config = &*self.context.config;
        let facts = Facts {
            config,
            slot: self.context.slot,
            timeout: timeouts::of_job(job),
            version: &self.options.version,
            revision: &self.options.revision,
            started_at: self.started_at,
        };
        let variables = variables::of_job(job, &facts)?;
        variables::check_lengths(&variables)?;
        let (timeouts, warnings) = Timeouts::read(job, config, &variables)?;
        for warning in warnings {
            self.log.warning_line(&warning);
        }
        let budget = self.budget(timeouts.job);
        let mut deadlines = Deadlines::new(self.started, timeouts.job, budget);
        if self.is_resumed() {
            deadlines.leave_time_after(Instant::now());
        }
        Ok(Settings {
            variables: Arc::new(variables),
            timeouts,
            deadlines,
        })
    }

    fn refuse_unsupported(&self) -> Result<(), BuildError> {
        let has_script = self.job.steps.iter().any(|step| !step.script.is_empty());
        if !self.job.run.is_empty() && has_script {
            return Err(BuildError::config(
                "`run` and `script` cannot be used together in one job",
            ));
        }
        let wants_caches = self
            .job
            .cache
            .iter()
            .any(|it| it.untracked || !it.paths.is_empty());
        if wants_caches && !self.options.keeps_caches() {
            self.log
                .warning_line("this runner keeps no caches; the job runs without them");
        }
        Ok(())
    }

    /// Returns whether the job has commands to run after its script.
    pub(crate) fn has_after_script(&self) -> bool {
        let after_script = self.job.step(Step::AFTER_SCRIPT);
        after_script.is_some_and(|step| !step.script.is_empty())
    }

    /// Returns how much of the job's time is reserved for the stages after its script.
    fn budget(&self, job: Duration) -> Duration {
        let runs_after = self.has_after_script();
        let keeps = self
            .job
            .artifacts
            .iter()
            .any(|it| it.when != ArtifactWhen::OnSuccess);
        let saves = self
            .job
            .cache
            .iter()
            .any(|it| it.when != ArtifactWhen::OnSuccess);
        let something_follows = runs_after
            || (keeps && self.options.keeps_artifacts())
            || (saves && self.options.keeps_caches());
        match self.options.finalisation_budget {
            _ if !something_follows => Duration::ZERO,
            Some(budget) => budget.min(job / 2),
            None => Deadlines::default_budget(job),
        }
    }

    pub(crate) fn outcome(&mut self, result: Result<(), BuildError>) -> JobOutcome {
        let outcome = match result {
            Ok(()) => JobOutcome::success(),
            Err(error) => JobOutcome::from_error(error),
        };
        self.active.set_state(outcome.state);
        let duration = self.elapsed();
        JobOutcome {
            stages: std::mem::take(&mut self.reports),
            products: Arc::new(std::mem::take(&mut self.products)),
            duration,
            ..outcome
        }
    }

    /// Returns the time that the job has taken so far.
    fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.visited)
    }

    async fn finish(&self, executor: &mut dyn Executor, outcome: &JobOutcome) {
        let finish = async {
            executor.finish(outcome).await;
            Ok(())
        };
        if let Err(error) = catch_panic(&*self.log, finish).await {
            self.log
                .warning_line(&format!("failed to finish: {}", error.chain()));
        }
    }

    /// Cleans up an executor, also after a cancel. After an abort it has a few seconds.
    pub(crate) async fn cleanup(&self, executor: &mut dyn Executor) {
        let limit = self.options.cleanup_deadline;
        let cleanup = async {
            let work = tokio::time::timeout(limit, executor.cleanup());
            let work = self.cancellation.unless_aborted(ABORT_GRACE, work);
            tokio::pin!(work);
            let soon = tokio::time::timeout(LONG_CLEANUP.min(limit), &mut work).await;
            let cleaned = if let Ok(cleaned) = soon {
                cleaned
            } else {
                // The executor may have a shorter limit than this one.
                let after = HumanDuration(LONG_CLEANUP);
                self.log
                    .warning_line(&format!("still cleaning up after {after}"));
                work.await
            };
            match cleaned {
                Some(Ok(cleaned)) => cleaned,
                Some(Err(_)) => Err(BuildError::Timeout {
                    phase: "cleanup",
                    limit,
                }),
                None => {
                    self.log
                        .warning_line("the cleanup was ended: the job's environment may remain");
                    Ok(())
                }
            }
        };
        if let Err(error) = catch_panic(&*self.log, cleanup).await {
            self.log
                .warning_line(&format!("failed to clean up: {}", error.chain()));
            tracing::info!(job = %self.job.id, "Cleanup failed; the job's log says why.");
        }
    }

    /// Removes the files that this runner itself created on this host for the job.
    async fn remove_build(&mut self, workspace: &Workspace) {
        if let Some(early) = self.early.take() {
            self.discard_early(early, Parents::Kept).await;
        }
        if let Err(error) = self.detach().await {
            self.log.warning_line(&error.chain());
        }
        if let Some(staging) = self.staging.take()
            && let Err(error) = staging.remove().await
        {
            self.log.warning_line(&error.chain());
        }
        if let Some(exchange) = self.exchange.take()
            && let Err(error) = exchange.remove().await
        {
            self.log.warning_line(&error.chain());
        }
        let Some(dirs) = workspace.host_dirs() else {
            return;
        };
        let temp = PathBuf::from(&dirs.temp_dir);
        let builds = PathBuf::from(&dirs.builds_dir);
        let own_project = self.own_project(dirs);
        let project = own_project.clone();
        let remove = move || directories::remove_build(&temp, project.as_deref(), &builds);
        self.remove_recorded(own_project.as_deref(), "remove the build directory", remove)
            .await;
    }

    /// Runs `remove`, and then revokes the journal's record of the project. An error is a warning in the log.
    pub(crate) async fn remove_recorded(
        &self,
        own_project: Option<&Path>,
        action: &str,
        remove: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) {
        let removed = off_thread(remove).await.flatten();
        let removed = removed.map_err(|source| BuildError::system("runner", action, source));
        let revoked = removed.and_then(|()| match own_project {
            Some(project) => self.processes.forget_directory(project),
            None => Ok(()),
        });
        if let Err(error) = revoked {
            self.log.warning_line(&error.chain());
        }
    }

    /// Removes the mount or the worktree behind the job's directory.
    pub(crate) async fn detach(&mut self) -> Result<(), BuildError> {
        match self.attachment.take() {
            Some(attachment) => attachment.remove().await,
            None => Ok(()),
        }
    }

    /// Returns how long the project directory exists.
    pub(crate) fn directory_lifetime(&self) -> Lifetime {
        if self.options.keep_builds {
            Lifetime::Kept
        } else {
            Lifetime::Job
        }
    }

    /// Returns the project directory if this runner must remove it.
    pub(crate) fn own_project(&self, dirs: &BuildDirs) -> Option<PathBuf> {
        let own = match self.options.sources {
            Sources::Snapshot(_) | Sources::Worktree(_) | Sources::None => true,
            Sources::Git(_) | Sources::InPlace(_) => false,
        };
        (own && self.directory_lifetime() == Lifetime::Job)
            .then(|| PathBuf::from(&dirs.project_dir))
    }

    fn write_end(&self, outcome: &JobOutcome) {
        let Some(error) = &outcome.error else {
            self.log.system_line("\x1b[32;1mJob succeeded\x1b[0;m");
            return;
        };
        if error.failure_reason() == FailureReason::JobCanceled {
            // `canceled by the user`: the job did not fail.
            return self.log.warning_line(&format!("Job {}", error.chain()));
        }
        let text = match &**error {
            BuildError::Script { exit_code } => format!("exit code {exit_code}"),
            other => other.chain(),
        };
        let kind = match error.failure_reason() {
            FailureReason::RunnerSystemFailure => " (system failure)",
            FailureReason::RunnerConfigurationError => " (configuration error)",
            _ => "",
        };
        let text = format!("Job failed{kind}: {text}");
        match &**error {
            // The outcome has the exit code, so this line is not an error for readers of the outcome.
            BuildError::Script { .. } => self
                .log
                .system_line(&format!("\x1b[31;1mERROR: {text}\x1b[0;m")),
            _ => self.log.error_line(&text),
        }
    }
}
