//! One worker: capacity first, then a job, then the capacity back.

use crate::active_jobs::ActiveJobs;
use crate::cancellation::{CancelCause, Cancellation};
use crate::config::RunnerConfig;
use crate::error::{AcquireError, BoxError, BuildError, ProviderError};
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

/// What came of one turn of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// A job ran.
    RanJob,
    /// The provider had no capacity, so no job was asked for.
    NoCapacity,
    /// The source had no job.
    NoJob,
    /// The source will have no job any more, or the worker was told to stop.
    Closed,
}

/// Why a turn of a worker failed.
///
/// No job is lost: none had been handed out, but for a [`Panicked`](Self::Panicked) source that may
/// have forgotten one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// No capacity could be had, and not because all was in use.
    #[error("acquire capacity")]
    Acquire(#[source] AcquireError),
    /// The request could not be built.
    #[error("describe the executor")]
    Describe(#[source] ProviderError),
    /// The source could not be asked.
    #[error("ask for a job")]
    Source(#[source] JobSourceError),
    /// The provider or the source panicked. A panic of the job runner is the job's outcome instead.
    #[error("take a turn")]
    Panicked(#[source] BoxError),
}

/// What a worker does when a turn fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ErrorPolicy {
    /// It logs the trouble and tries again after the pause: a network or a coordinator comes back.
    ///
    /// An executor that cannot be described will not be later either, so that ends the worker.
    #[default]
    Retry,
    /// It returns the error: on one machine trouble does not pass by itself, and somebody waits for
    /// the answer.
    Fail,
}

/// Takes jobs from a source and runs them, one at a time.
///
/// A turn is: acquire capacity, describe the executor, ask for a job, run it, release. Release
/// follows every acquire: after errors, after a panic of whoever takes part, and when no job came.
/// A runner with room for four jobs has four workers.
#[derive(Debug, Clone)]
pub struct Worker {
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// Makes the executors.
    pub provider: Arc<dyn ExecutorProvider>,
    /// Hands out the jobs.
    pub source: Arc<dyn JobSource>,
    /// Runs them.
    pub runner: Arc<dyn JobRunner>,
    /// Where running jobs are listed.
    pub active: ActiveJobs,
    /// Where jobs take their numbers; the workers of one runner share it.
    pub slots: JobSlots,
    /// How long the worker rests when there was no capacity, no job or an error.
    pub pause: Duration,
    /// What to do when a turn fails.
    pub on_error: ErrorPolicy,
}

impl Worker {
    /// The rest between two turns without a job, when nothing else is set: GitLab's `check_interval`.
    pub const DEFAULT_PAUSE: Duration = Duration::from_secs(3);

    /// Takes turns until the source is closed or a stop is asked for.
    ///
    /// # Errors
    ///
    /// The first failed turn with [`ErrorPolicy::Fail`]; otherwise only what makes every further turn
    /// fail.
    ///
    /// # Cancellation
    ///
    /// The job in hand is stopped through its own `Cancellation` by its source; the worker takes no
    /// further one. The future must be awaited to its end, as that of [`take_turn`](Self::take_turn).
    pub async fn run(&self, cancellation: &Cancellation) -> Result<(), WorkerError> {
        while !cancellation.is_canceled() {
            match self.take_turn(cancellation).await {
                Ok(TurnOutcome::RanJob) => continue,
                Ok(TurnOutcome::Closed) => break,
                Ok(TurnOutcome::NoCapacity) => {
                    tracing::debug!(runner = %self.config.name, "No free executor, no job asked for.");
                }
                Ok(TurnOutcome::NoJob) => {}
                Err(error) if self.ends_after(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(runner = %self.config.name, error = &error as &dyn std::error::Error, "TurnOutcome failed.");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(self.pause) => {}
                () = cancellation.canceled() => {}
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
    /// When capacity, the executor's description or the source fails, or one of them panics. What
    /// was acquired is released.
    ///
    /// # Cancellation
    ///
    /// Closes the turn when no job has come yet. The future must be awaited to its end: dropped
    /// halfway, it keeps what it acquired and leaves the job it took behind.
    pub async fn take_turn(&self, cancellation: &Cancellation) -> Result<TurnOutcome, WorkerError> {
        let acquired = catch_panic(self.provider.acquire(&self.config, cancellation)).await;
        let data = match acquired.map_err(panicked)? {
            Ok(data) => data,
            Err(AcquireError::Canceled(_)) if cancellation.is_canceled() => {
                return Ok(TurnOutcome::Closed);
            }
            // A provider that withdraws for a reason of its own says nothing about later turns.
            Err(AcquireError::NoFreeExecutor | AcquireError::Canceled(_)) => {
                return Ok(TurnOutcome::NoCapacity);
            }
            Err(error) => return Err(WorkerError::Acquire(error)),
        };
        let turn = self.guarded_turn(data.clone(), cancellation.clone()).await;
        let released = catch_panic(self.provider.release(&self.config, data)).await;
        let turn = turn?;
        released.map_err(panicked)?;
        Ok(turn)
    }

    /// Does what a turn does with capacity on a task of its own, so that a panic there cannot skip
    /// the release.
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
        // Asked also when the settings choose a shell: a provider may count on the order of calls.
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

    /// Runs a job on a task of its own, so that a panic ends the job and not the worker.
    async fn run_job(&self, assignment: JobAssignment, data: ExecutorData) -> JobOutcome {
        // The numbers are free again before the source learns of the end: what it hands out next may
        // have them.
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
