//! A worker: acquires capacity, runs a job, releases the capacity.

use crate::active_jobs::ActiveJobs;
use crate::cancellation::{ABORT_GRACE, CancelCause, Cancellation};
use crate::config::RunnerConfig;
use crate::error::{AcquireError, BoxError, BuildError, ProviderError, chain};
use crate::executor_data::ExecutorData;
use crate::features::{ConfigInfo, FeaturesInfo};
use crate::panics::{Panic, catch_panic};
use crate::provider::ExecutorProvider;
use crate::result::JobOutcome;
use crate::slot::JobSlots;
use crate::source::{
    JobAssignment, JobRequest, JobRunner, JobSource, JobSourceError, NextJob, RunContext,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The outcome of one turn of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// A job ran.
    RanJob,
    /// The provider had no capacity, so the worker requested no job.
    NoCapacity,
    /// The source had no job.
    NoJob,
    /// The source is closed, or a stop was requested.
    Closed,
}

/// The error of a turn of a worker.
///
/// No job is lost, because none was assigned yet. The exception is a [`Panicked`](Self::Panicked)
/// source, which may lose one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// Acquiring capacity failed for a reason other than full use.
    #[error("acquire capacity")]
    Acquire(#[source] AcquireError),
    /// The executor's description for the request failed.
    #[error("describe the executor")]
    Describe(#[source] ProviderError),
    /// The request to the source failed.
    #[error("ask for a job")]
    Source(#[source] JobSourceError),
    /// The provider or the source panicked. A panic of the job runner is the job's outcome instead.
    #[error("take a turn")]
    Panicked(#[source] BoxError),
}

/// The reaction of a worker to a failed turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ErrorPolicy {
    /// Logs the error and retries after the pause: a network or a coordinator recovers.
    ///
    /// An executor that cannot be described ends the worker, since a retry would fail too.
    #[default]
    Retry,
    /// Returns the error: on a single machine a failure is not transient, and the user waits.
    Fail,
}

/// Takes jobs from a source and runs them, one at a time.
///
/// A turn acquires capacity, describes the executor, requests a job, runs it and releases the
/// capacity. Every acquire is followed by a release: after errors, after panics, and without a job.
/// A runner for four concurrent jobs has four workers.
#[derive(Debug, Clone)]
pub struct Worker {
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// Creates the executors.
    pub provider: Arc<dyn ExecutorProvider>,
    /// Hands out the jobs.
    pub source: Arc<dyn JobSource>,
    /// Runs the jobs.
    pub runner: Arc<dyn JobRunner>,
    /// The list of running jobs.
    pub active: ActiveJobs,
    /// The concurrency numbers of jobs, shared by the workers of one runner.
    pub slots: JobSlots,
    /// The pause after a turn without a job: no capacity, no job or an error.
    pub pause: Duration,
    /// The reaction to a failed turn.
    pub on_error: ErrorPolicy,
}

/// How long an executor may be full without a job of this runner before that is mentioned.
const MENTIONED_AFTER: Duration = Duration::from_secs(10);

/// How long a worker has found no capacity.
#[derive(Debug, Default)]
struct Full {
    since: Option<Instant>,
    is_mentioned: bool,
}

impl Full {
    fn note(&mut self, worker: &Worker) {
        let runner = &worker.config.name;
        tracing::debug!(%runner, "No free executor, no job asked for.");
        if !worker.active.scrape().is_empty() {
            // With a job of this runner, the wait is the usual one.
            self.since = None;
            return;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() < MENTIONED_AFTER || self.is_mentioned {
            return;
        }
        self.is_mentioned = true;
        tracing::warn!(
            "The executor has no free place, although no job of this runner has one. Waiting for another runner, or for a machine."
        );
    }
}

impl Worker {
    /// The default pause: GitLab's `check_interval`.
    pub const DEFAULT_PAUSE: Duration = Duration::from_secs(3);

    /// Takes turns until the source is closed or a stop is requested.
    ///
    /// # Errors
    ///
    /// With [`ErrorPolicy::Fail`], the error of the first failed turn; otherwise only an error that every
    /// further turn would have too.
    ///
    /// # Cancellation
    ///
    /// The worker takes no further job; the source stops the current job through its own `Cancellation`.
    /// Await the future to its end, as that of [`take_turn`](Self::take_turn).
    pub async fn run(&self, cancellation: &Cancellation) -> Result<(), WorkerError> {
        let mut full = Full::default();
        while !cancellation.is_canceled() {
            match self.take_turn(cancellation).await {
                Ok(TurnOutcome::RanJob) => {
                    full = Full::default();
                    continue;
                }
                Ok(TurnOutcome::Closed) => break,
                Ok(TurnOutcome::NoCapacity) => full.note(self),
                Ok(TurnOutcome::NoJob) => {}
                Err(error) if self.ends_after(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(runner = %self.config.name, error = %chain(&error), "Cannot take a turn.");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(self.pause) => {}
                _ = cancellation.canceled() => {}
            }
        }
        Ok(())
    }

    fn ends_after(&self, error: &WorkerError) -> bool {
        match self.on_error {
            ErrorPolicy::Fail => true,
            ErrorPolicy::Retry => matches!(error, WorkerError::Describe(_)),
        }
    }

    /// Takes one turn.
    ///
    /// # Errors
    ///
    /// When acquiring, the executor's description or the source fails or panics. The capacity is
    /// released.
    ///
    /// # Cancellation
    ///
    /// Ends the turn when there is no job yet. Await the future to its end: dropped halfway, it never
    /// releases its capacity and abandons its job.
    pub async fn take_turn(&self, cancellation: &Cancellation) -> Result<TurnOutcome, WorkerError> {
        let acquired = catch_panic(self.provider.acquire(&self.config, cancellation)).await;
        let data = match acquired.map_err(panicked)? {
            Ok(data) => data,
            Err(AcquireError::Canceled(_)) if cancellation.is_canceled() => {
                return Ok(TurnOutcome::Closed);
            }
            // A provider may cancel for its own reasons; a later turn may still succeed.
            Err(AcquireError::NoFreeExecutor | AcquireError::Canceled(_)) => {
                return Ok(TurnOutcome::NoCapacity);
            }
            Err(error) => return Err(WorkerError::Acquire(error)),
        };
        let turn = self.guarded_turn(data.clone(), cancellation.clone()).await;
        let release = catch_panic(self.provider.release(&self.config, data));
        let released = cancellation.unless_aborted(ABORT_GRACE, release).await;
        let turn = turn?;
        if let Some(released) = released {
            released.map_err(panicked)?;
        } else {
            tracing::warn!("The executor was ended before it had released its capacity.");
        }
        Ok(turn)
    }

    /// Takes the rest of a turn in a separate task, so that a panic cannot skip the release.
    async fn guarded_turn(
        &self,
        data: ExecutorData,
        cancellation: Cancellation,
    ) -> Result<TurnOutcome, WorkerError> {
        let worker = self.clone();
        let mut task = JoinSet::new();
        task.spawn(async move { worker.turn_with(&data, &cancellation).await });
        match task.join_next().await {
            Some(Ok(turn)) => turn,
            Some(Err(panic)) => Err(WorkerError::Panicked(panic.into())),
            None => Ok(TurnOutcome::Closed),
        }
    }

    async fn turn_with(
        &self,
        data: &ExecutorData,
        cancellation: &Cancellation,
    ) -> Result<TurnOutcome, WorkerError> {
        let request = self.request().map_err(WorkerError::Describe)?;
        let next = self
            .source
            .next(&request, cancellation)
            .await
            .map_err(WorkerError::Source)?;
        let assignment = match next {
            NextJob::Job(assignment) => *assignment,
            NextJob::None => return Ok(TurnOutcome::NoJob),
            NextJob::Closed => return Ok(TurnOutcome::Closed),
        };
        let job = assignment.job.id;
        let outcome = self.run_job(assignment, data.clone()).await;
        self.source.finished(job, outcome).await;
        Ok(TurnOutcome::RanJob)
    }

    fn request(&self) -> Result<JobRequest, ProviderError> {
        let mut features = FeaturesInfo::default();
        self.provider.features(&mut features)?;
        let mut config_info = ConfigInfo::default();
        self.provider.config_info(&self.config, &mut config_info);
        // Called even when the settings name a shell: a provider may rely on the order of calls.
        let default_shell = self.provider.default_shell();
        let shell = self
            .config
            .shell
            .or(default_shell)
            .ok_or_else(|| ProviderError::new("the executor has no default shell"))?;
        Ok(JobRequest {
            runner: self.config.name.clone(),
            executor: self.config.executor.clone(),
            features,
            config_info,
            shell,
            tags: self.config.tags.clone(),
        })
    }

    /// Runs a job in a separate task, so that a panic ends the job and not the worker.
    async fn run_job(&self, assignment: JobAssignment, data: ExecutorData) -> JobOutcome {
        // The numbers are released before the source receives the outcome: its next job may take them.
        let slot = self.slots.take(assignment.job.job_info.project_id);
        let runner = Arc::clone(&self.runner);
        let context = RunContext {
            provider: Arc::clone(&self.provider),
            config: Arc::clone(&self.config),
            data,
            slot: slot.slot(),
            active: self.active.clone(),
        };
        let mut task = JoinSet::new();
        task.spawn(async move { runner.run(assignment, context).await });
        match task.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => JobOutcome::from_error(BuildError::System {
                backend: "runner",
                message: "the job runner panicked".to_owned(),
                source: Some(panic.into()),
                retry: crate::error::Retryability::Permanent,
            }),
            None => JobOutcome::from_error(BuildError::Canceled(CancelCause::Shutdown)),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn panicked(panic: Panic) -> WorkerError {
    WorkerError::Panicked(panic.to_string().into())
}
