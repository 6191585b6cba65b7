use super::controls::Controls;
use super::progress::RunProgress;
use crate::event::{EventSink, ParentJob};
use async_trait::async_trait;
use executor_core::job::Job;
use executor_core::variable::JobVariable;
use executor_core::{BuildError, Cancellation, JobObserver, JobRunner};
use pipeline::plan::Plan;
use std::fmt::Debug;
use std::sync::Arc;

/// Creates the pipelines that jobs with `trigger` start.
///
/// The scheduler runs them, with the workers of the pipeline above: so all pipelines of a run have
/// no more jobs at once than one of them alone.
#[async_trait]
pub trait Downstream: Send + Sync + Debug {
    /// Creates the pipeline that a job starts. Called once for each attempt of the job, and for
    /// several jobs at once.
    ///
    /// # Errors
    ///
    /// When there is no such pipeline, mostly as [`BuildError::Downstream`]; the job fails with that.
    /// What its author has to know besides goes to the job's log.
    ///
    /// # Cancellation
    ///
    /// Returns [`BuildError::Canceled`] soon.
    async fn create(
        &self,
        bridge: Bridge,
        cancellation: &Cancellation,
    ) -> Result<DownstreamPipeline, BuildError>;

    /// Takes note that a job ended well which started a pipeline, before anybody else hears of it.
    async fn succeeded(&self, job: &Arc<Job>) {
        let _ = job;
    }
}

/// A job that starts another pipeline, as whoever creates that sees it.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// The pipeline that it belongs to.
    pub plan: Arc<Plan>,
    /// Its place there.
    pub index: usize,
    /// The job as it would be handed out, its `trigger` expanded.
    pub job: Arc<Job>,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The variables from reports of the jobs whose artifacts it fetches.
    pub dotenv: Vec<JobVariable>,
    /// Watches it: what is written there is its log.
    pub observer: Arc<dyn JobObserver>,
}

/// A pipeline that a job starts.
#[derive(Debug, Clone)]
pub struct DownstreamPipeline {
    /// What is run. Its jobs have ids that no other job of the run has.
    pub plan: Arc<Plan>,
    /// The job that starts it.
    pub parent: ParentJob,
    /// Runs its jobs; `None` means whoever runs those of the pipeline above.
    pub runner: Option<Arc<dyn JobRunner>>,
    /// Takes its events; `None` means whoever takes those of the pipeline above.
    pub sink: Option<Arc<dyn EventSink>>,
    /// Creates the pipelines that its own jobs start.
    pub downstream: Option<Arc<dyn Downstream>>,
    /// What tells it what to do while it runs.
    pub controls: Controls,
    /// How far it came in an earlier run.
    pub progress: Arc<RunProgress>,
}
