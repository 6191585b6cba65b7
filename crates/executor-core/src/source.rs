//! The sources, observers and runners of jobs.

use crate::active_jobs::ActiveJobs;
use crate::cancellation::Cancellation;
use crate::config::RunnerConfig;
use crate::error::BoxError;
use crate::executor_data::ExecutorData;
use crate::features::{ConfigInfo, FeaturesInfo};
use crate::job::{Job, JobId};
use crate::provider::ExecutorProvider;
use crate::result::{JobOutcome, StageReport};
use crate::shell::ShellDialect;
use crate::slot::JobSlot;
use crate::stage::BuildStage;
use crate::trace::TraceStream;
use async_trait::async_trait;
use std::fmt::Debug;
use std::sync::Arc;

/// A worker's request for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The runner's name.
    pub runner: String,
    /// The executor's name.
    pub executor: String,
    /// The executor's features.
    pub features: FeaturesInfo,
    /// Details of its configuration.
    pub config_info: ConfigInfo,
    /// The default shell of jobs.
    pub shell: ShellDialect,
    /// The runner's tags.
    pub tags: Vec<String>,
}

/// A job and the parts of this attempt.
#[derive(Debug, Clone)]
pub struct JobAssignment {
    /// The job.
    pub job: Arc<Job>,
    /// The attempt, counted from 1.
    pub attempt: u32,
    /// Receives the events of the attempt.
    pub observer: Arc<dyn JobObserver>,
    /// Stops the attempt.
    pub cancellation: Cancellation,
}

/// The response of a source.
#[derive(Debug)]
pub enum NextJob {
    /// A job to run.
    Job(Box<JobAssignment>),
    /// No job now; request again later.
    None,
    /// No more jobs.
    Closed,
}

/// The error of a source.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct JobSourceError {
    /// What was attempted.
    pub message: String,
    /// The cause.
    #[source]
    pub source: Option<BoxError>,
}

/// Hands out jobs: a pipeline's scheduler, a GitLab server, a queue.
///
/// Several workers share a source and call it concurrently. Each job goes to one of them.
#[async_trait]
pub trait JobSource: Send + Sync + Debug {
    /// Returns the next job. The caller already holds capacity for it.
    ///
    /// A source may wait for a job, and may return [`NextJob::None`] at any time while it waits.
    ///
    /// # Errors
    ///
    /// When the source cannot be reached; the worker retries.
    ///
    /// # Cancellation
    ///
    /// Returns [`NextJob::Closed`] soon.
    async fn next(
        &self,
        request: &JobRequest,
        cancellation: &Cancellation,
    ) -> Result<NextJob, JobSourceError>;

    /// Receives the outcome of a job it handed out. Called once for each, also after a panic.
    async fn finished(&self, job: JobId, outcome: JobOutcome);
}

/// Receives the events of one attempt of a job.
///
/// The task that runs the job calls the methods in order; several tasks may call `output`
/// concurrently. All methods must return soon.
pub trait JobObserver: Send + Sync + Debug {
    /// The job started.
    fn started(&self);

    /// A stage started.
    fn stage_started(&self, stage: &BuildStage);

    /// A stage finished.
    fn stage_finished(&self, report: &StageReport);

    /// The log received these bytes, already masked.
    fn output(&self, stream: TraceStream, data: &[u8]);

    /// A stream was silent for a while: a partial line may be shown.
    fn idle(&self, stream: TraceStream);
}

/// The provider, settings and capacity for a job.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// Creates the executors.
    pub provider: Arc<dyn ExecutorProvider>,
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// The data acquired for the job.
    pub data: ExecutorData,
    /// The job's concurrency numbers.
    pub slot: JobSlot,
    /// The list of running jobs, for metrics.
    pub active: ActiveJobs,
}

/// Runs one job from its first stage to its last.
#[async_trait]
pub trait JobRunner: Send + Sync + Debug {
    /// Runs the job and returns its outcome.
    ///
    /// It always cleans up every executor it creates before it returns. Errors are part of the outcome.
    ///
    /// # Cancellation
    ///
    /// Obeys the assignment's [`Cancellation`]; the future must be awaited to its end.
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome;
}
