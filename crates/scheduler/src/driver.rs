use super::conductor::{Concluded, Conductor};
use super::controls::Controls;
use super::dispatcher::Dispatcher;
use super::downstream::Downstream;
use super::progress::RunProgress;
use super::resources::{LocalResources, ResourceGroups};
use crate::event::EventSink;
use crate::report::PipelineReport;
use executor_core::{
    ActiveJobs, CancelCause, Cancellation, ErrorPolicy, ExecutorProvider, JobRunner, JobSlots,
    JobSource, RunnerConfig, Worker, WorkerError,
};
use pipeline::plan::{Plan, PlannedJob};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use yaml::source::clamp;

/// How long a worker rests when the provider had no capacity.
const CAPACITY_PAUSE: Duration = Duration::from_millis(100);

/// Runs plans with a number of workers.
///
/// Knows no executor and no job runner but the ones it is given.
#[derive(Debug, Clone)]
pub struct Driver {
    /// Makes the executors.
    pub provider: Arc<dyn ExecutorProvider>,
    /// Runs the jobs.
    pub runner: Arc<dyn JobRunner>,
    /// The runner's settings.
    pub config: Arc<RunnerConfig>,
    /// Where running jobs are listed.
    pub active: ActiveJobs,
    /// How many jobs run at once.
    pub concurrency: NonZeroU32,
    /// The longest the whole pipeline may take; `None` means for ever.
    pub timeout: Option<Duration>,
    /// Takes the events.
    pub sink: Arc<dyn EventSink>,
    /// What tells the pipeline what to do while it runs: keep a clone.
    pub controls: Controls,
    /// How far the pipeline came in an earlier run.
    pub progress: Arc<RunProgress>,
    /// Lets one job of each resource group run at a time.
    pub resources: Arc<dyn ResourceGroups>,
    /// Runs the pipelines that jobs with `trigger` start; without it nobody does.
    pub downstream: Option<Arc<dyn Downstream>>,
}

impl Driver {
    /// Returns a driver that runs one job at a time, for as long as it takes, from the beginning.
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

    /// Runs a plan to its end: until every job has ended, will never run, or waits for somebody to
    /// start it by hand.
    ///
    /// Whatever goes wrong is part of the report, which also says what the program should exit with.
    ///
    /// # Cancellation
    ///
    /// A cancel or abort reaches the jobs that run, and no other starts; the report comes when the
    /// last of them has cleaned up. The future must be awaited to its end.
    pub async fn run(&self, plan: Arc<Plan>, cancellation: &Cancellation) -> PipelineReport {
        // A child, so that running out of time does not look like somebody's wish to the caller.
        let stop = cancellation.child();
        let dispatcher = Arc::new(Dispatcher::new());
        let mut workers = self.start_workers(&plan, &dispatcher, &stop);
        let conductor = self.conductor(plan, &dispatcher);
        let conduct = conductor.conduct(&stop);
        let (concluded, error) = attend(conduct, &mut workers, &dispatcher, &stop).await;
        let interrupted = cancellation.is_canceled();
        concluded.into_report(&stop, interrupted, error)
    }

    fn conductor(&self, plan: Arc<Plan>, dispatcher: &Arc<Dispatcher>) -> Conductor {
        Conductor {
            plan,
            parent: None,
            dispatcher: Arc::clone(dispatcher),
            runner: Arc::clone(&self.runner),
            sink: Arc::clone(&self.sink),
            controls: self.controls.clone(),
            progress: Arc::clone(&self.progress),
            resources: Arc::clone(&self.resources),
            downstream: self.downstream.clone(),
            timeout: self.timeout,
        }
    }

    /// Starts the workers: as many as there are jobs at most, unless other pipelines may bring more.
    fn start_workers(
        &self,
        plan: &Plan,
        dispatcher: &Arc<Dispatcher>,
        stop: &Cancellation,
    ) -> JoinSet<Ended> {
        let mut workers = JoinSet::new();
        let most = self.concurrency.get();
        let count = if plan.jobs().iter().any(PlannedJob::is_bridge) {
            most
        } else {
            clamp(plan.jobs().len()).min(most)
        };
        let slots = JobSlots::new();
        for _ in 0..count {
            let worker = Worker {
                config: Arc::clone(&self.config),
                provider: Arc::clone(&self.provider),
                source: Arc::clone(dispatcher) as Arc<dyn JobSource>,
                runner: Arc::clone(dispatcher) as Arc<dyn JobRunner>,
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

/// Waits for the pipeline and the workers.
///
/// Says why workers gave up, when none was left to finish the pipeline or one panicked.
async fn attend(
    conduct: impl Future<Output = Concluded>,
    workers: &mut JoinSet<Ended>,
    dispatcher: &Dispatcher,
    stop: &Cancellation,
) -> (Concluded, Option<WorkerError>) {
    tokio::pin!(conduct);
    let mut concluded = None;
    let mut error = None;
    let mut panicked = false;
    loop {
        tokio::select! {
            done = &mut conduct, if concluded.is_none() => {
                concluded = Some(done);
                dispatcher.close();
            }
            ended = workers.join_next() => match ended {
                None => break,
                Some(ended) => if let Some(trouble) = trouble_of(ended) {
                    if matches!(trouble, WorkerError::Panicked(_)) {
                        // Its job may never be told to have ended, and others wait for it.
                        panicked = true;
                        stop.cancel(CancelCause::Shutdown);
                    }
                    error.get_or_insert(trouble);
                },
            },
        }
    }
    let Some(concluded) = concluded else {
        // Whoever was told to stop leaves nothing that others should have done.
        let is_left = !stop.is_canceled() && dispatcher.is_unfinished();
        dispatcher.close_without_workers();
        return (conduct.await, error.filter(|_| is_left || panicked));
    };
    // Other workers finished what one gave up.
    (concluded, error.filter(|_| panicked))
}

type Ended = Result<(), WorkerError>;

/// Returns why a worker gave up, if it did.
fn trouble_of(ended: Result<Ended, JoinError>) -> Option<WorkerError> {
    match ended {
        Ok(ended) => ended.err(),
        Err(panic) => Some(WorkerError::Panicked(panic.into())),
    }
}
