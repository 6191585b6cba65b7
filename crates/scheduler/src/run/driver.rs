use super::controls::Controls;
use super::downstream::Downstream;
use super::message::Message;
use super::owner_task::{OwnerTask, OwnerTaskOptions};
use super::progress::RunProgress;
use super::running_pipeline::PipelineOptions;
use super::worker_link::WorkerLink;
use crate::event::EventSink;
use crate::report::PipelineReport;
use crate::resource_groups::{LocalResources, ResourceGroups};
use executor_core::{
    ActiveJobs, Cancellation, ErrorPolicy, ExecutorProvider, JobRunner, JobSlots, JobSource,
    RunnerConfig, Worker, WorkerError,
};
use pipeline::plan::{Plan, PlannedJob};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use yaml::source::clamp;

/// The pause of a worker when the provider has no capacity.
const CAPACITY_PAUSE: Duration = Duration::from_millis(100);

/// Runs plans with a number of workers.
///
/// It knows no executor and no job runner besides those in its fields.
#[derive(Debug, Clone)]
pub struct Driver {
    /// Creates the executors.
    pub provider: Arc<dyn ExecutorProvider>,
    /// Runs the jobs.
    pub runner: Arc<dyn JobRunner>,
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// The list of running jobs.
    pub active: ActiveJobs,
    /// How many jobs run at once.
    pub concurrency: NonZeroU32,
    /// The time limit of the whole pipeline; `None` means no limit.
    pub timeout: Option<Duration>,
    /// Receives the events.
    pub sink: Arc<dyn EventSink>,
    /// Controls the pipeline while it runs: keep a clone.
    pub controls: Controls,
    /// The progress of the pipeline in an earlier run.
    pub progress: Arc<RunProgress>,
    /// Lets one job of each resource group run at a time.
    pub resources: Arc<dyn ResourceGroups>,
    /// Creates the pipelines that jobs with `trigger` start; without it those jobs fail.
    pub downstream: Option<Arc<dyn Downstream>>,
}

impl Driver {
    /// Returns a driver that runs one job at a time, without a time limit and without earlier
    /// progress.
    pub fn new(
        provider: Arc<dyn ExecutorProvider>,
        runner: Arc<dyn JobRunner>,
        config: Arc<RunnerConfig>,
        sink: Arc<dyn EventSink>,
    ) -> Self {
        Self {
            provider,
            runner,
            config,
            active: ActiveJobs::default(),
            concurrency: NonZeroU32::MIN,
            timeout: None,
            sink,
            controls: Controls::default(),
            progress: Arc::default(),
            resources: Arc::new(LocalResources::default()),
            downstream: None,
        }
    }

    /// Runs a plan until every job has ended, will never run, or waits for the user to start it.
    ///
    /// Every error is part of the report, which also has the exit code of the program.
    ///
    /// # Cancellation
    ///
    /// A cancel or abort reaches the running jobs, and no other job starts; the report comes after
    /// the last of them has cleaned up. Await the future to its end.
    pub async fn run(&self, plan: Arc<Plan>, cancellation: &Cancellation) -> PipelineReport {
        // A child, so that the time limit does not cancel for the caller.
        let stop = cancellation.child();
        let (sender, inbox) = mpsc::unbounded_channel();
        let owner = OwnerTask::new(OwnerTaskOptions {
            workers: self.start_workers(&plan, &sender, &stop),
            sender,
            inbox,
            stop,
            resources: Arc::clone(&self.resources),
        });
        let root = PipelineOptions {
            plan,
            parent: None,
            runner: Arc::clone(&self.runner),
            sink: Arc::clone(&self.sink),
            controls: self.controls.clone(),
            progress: Arc::clone(&self.progress),
            downstream: self.downstream.clone(),
            timeout: self.timeout,
        };
        owner.run(root, cancellation).await
    }

    /// Starts the workers, at most one for each job unless downstream pipelines may bring more jobs.
    fn start_workers(
        &self,
        plan: &Plan,
        owner: &mpsc::UnboundedSender<Message>,
        stop: &Cancellation,
    ) -> JoinSet<Result<(), WorkerError>> {
        let mut workers = JoinSet::new();
        let most = self.concurrency.get();
        let count = if plan.jobs().iter().any(PlannedJob::is_bridge) {
            most
        } else {
            clamp(plan.jobs().len()).min(most)
        };
        let slots = JobSlots::new();
        for _ in 0..count {
            let link = Arc::new(WorkerLink::new(owner.clone()));
            let worker = Worker {
                config: Arc::clone(&self.config),
                provider: Arc::clone(&self.provider),
                source: Arc::clone(&link) as Arc<dyn JobSource>,
                runner: link,
                active: self.active.clone(),
                slots: slots.clone(),
                pause: CAPACITY_PAUSE,
                on_error: ErrorPolicy::Fail,
            };
            let stop = stop.clone();
            workers.spawn(async move { worker.run(&stop).await });
        }
        workers
    }
}
