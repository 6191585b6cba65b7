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
/// The scheduler runs them with the workers of the first pipeline: all pipelines of a run together
/// have no more jobs at once than one of them alone.
#[async_trait]
pub trait Downstream: Send + Sync + Debug {
    /// Creates the pipeline that a job starts. Called once for each attempt of the job, and for
    /// several jobs at once.
    ///
    /// # Errors
    ///
    /// When the pipeline cannot be created, mostly as [`BuildError::Downstream`]; the job fails with
    /// that error. Details for the job's author go to the job's log.
    ///
    /// # Cancellation
    ///
    /// Returns [`BuildError::Canceled`] soon.
    async fn create(
        &self,
        bridge: Bridge,
        cancellation: &Cancellation,
    ) -> Result<DownstreamPipeline, BuildError>;

    /// Notes that a job which started a pipeline succeeded, before any event reports it.
    async fn succeeded(&self, job: &Arc<Job>) {
        let _ = job;
    }
}

/// A job that starts another pipeline.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// The pipeline of the job.
    pub plan: Arc<Plan>,
    /// The job's index in the plan.
    pub index: usize,
    /// The job as a worker would get it, its `trigger` expanded.
    pub job: Arc<Job>,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The variables from the dotenv reports of the jobs whose artifacts it fetches.
    pub dotenv: Vec<JobVariable>,
    /// The job's observer; output that it receives is the job's log.
    pub observer: Arc<dyn JobObserver>,
}

/// A pipeline that a job starts.
#[derive(Debug, Clone)]
pub struct DownstreamPipeline {
    /// The plan. Its jobs have ids that no other job of the run has.
    pub plan: Arc<Plan>,
    /// The job that starts the pipeline.
    pub parent: ParentJob,
    /// Runs its jobs; `None` means the runner of the pipeline above.
    pub runner: Option<Arc<dyn JobRunner>>,
    /// Receives its events; `None` means the sink of the pipeline above.
    pub sink: Option<Arc<dyn EventSink>>,
    /// Creates the pipelines that its own jobs start.
    pub downstream: Option<Arc<dyn Downstream>>,
    /// Controls the pipeline while it runs.
    pub controls: Controls,
    /// The progress of the pipeline in an earlier run.
    pub progress: Arc<RunProgress>,
}
