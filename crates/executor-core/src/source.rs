//! Where jobs come from, and who runs them.

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

/// What a worker tells a source when it asks for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The runner's name.
    pub runner: String,
    /// The executor's name.
    pub executor: String,
    /// What the executor can do.
    pub features: FeaturesInfo,
    /// Details of its configuration.
    pub config_info: ConfigInfo,
    /// The shell jobs get when nobody chose one.
    pub shell: ShellDialect,
    /// The runner's tags.
    pub tags: Vec<String>,
}

/// A job, and what belongs to this attempt of it.
#[derive(Debug, Clone)]
pub struct JobAssignment {
    /// The job.
    pub job: Arc<Job>,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// Who watches it.
    pub observer: Arc<dyn JobObserver>,
    /// What stops it.
    pub cancellation: Cancellation,
}

/// What a source answers.
#[derive(Debug)]
pub enum NextJob {
    /// Here is one.
    Job(Box<JobAssignment>),
    /// There is none now; ask again.
    None,
    /// There will be none any more.
    Closed,
}

/// Why a source could not answer.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct JobSourceError {
    /// What was attempted.
    pub message: String,
    /// The cause.
    #[source]
    pub source: Option<BoxError>,
}

/// Hands out jobs: a pipeline's scheduler, a GitLab, a queue.
///
/// Several workers share a source and call it at once. Each job goes to one of them.
#[async_trait]
pub trait JobSource: Send + Sync + Debug {
    /// Returns the next job. The caller holds capacity for it already.
    ///
    /// A source may wait until there is one; it then answers [`NextJob::None`] from time to time or
    /// not at all, as it likes.
    ///
    /// # Errors
    ///
    /// When the source cannot be reached; the worker comes again.
    ///
    /// # Cancellation
    ///
    /// Returns [`NextJob::Closed`] soon.
    async fn next(
        &self,
        request: &JobRequest,
        cancellation: &Cancellation,
    ) -> Result<NextJob, JobSourceError>;

    /// Takes note of how a job it handed out has ended. Called once for each, also after a panic.
    async fn finished(&self, job: JobId, outcome: JobOutcome);
}

/// Watches one attempt of a job.
///
/// Calls come in order from the task that runs the job, except for `output`, which may come from
/// several at once. All of them must return soon.
pub trait JobObserver: Send + Sync + Debug {
    /// The job has begun to run.
    fn started(&self);

    /// A stage begins.
    fn stage_started(&self, stage: &BuildStage);

    /// A stage has ended.
    fn stage_finished(&self, report: &StageReport);

    /// Bytes of the log, masked.
    fn output(&self, stream: TraceStream, data: &[u8]);

    /// Nothing came over a stream for a while: a partial line may be shown.
    fn idle(&self, stream: TraceStream);
}

/// What a job is run with.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// Makes the executors.
    pub provider: Arc<dyn ExecutorProvider>,
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// What was acquired for the job.
    pub data: ExecutorData,
    /// The job's numbers.
    pub slot: JobSlot,
    /// Where running jobs are listed for metrics.
    pub active: ActiveJobs,
}

/// Runs one job from its first stage to its last.
#[async_trait]
pub trait JobRunner: Send + Sync + Debug {
    /// Runs the job and returns how it ended.
    ///
    /// Every executor it creates is cleaned up before it returns, whatever happened. Errors are part
    /// of the outcome.
    ///
    /// # Cancellation
    ///
    /// Obeys the assignment's [`Cancellation`]; the future must be awaited to its end.
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome;
}
