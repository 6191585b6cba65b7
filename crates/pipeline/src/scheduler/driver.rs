use super::controls::Controls;
use super::downstream::Downstream;
use super::progress::Progress;
use super::queue::Queue;
use super::resources::{LocalResources, ResourceGroups};
use crate::event::{EventKind, EventLog, EventSink};
use crate::plan::Plan;
use crate::report::{PipelineReport, RunExit, exit_of};
use executor_core::{
    ActiveJobs, CancelCause, Cancellation, ExecutorProvider, JobRunner, JobSlots, JobSource,
    OnTrouble, RunnerConfig, Worker, WorkerError,
};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

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
    pub progress: Arc<Progress>,
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
        let begun = Instant::now();
        let id = plan.id();
        let events = Arc::new(EventLog::new(id, Arc::clone(&self.sink)));
        // A child, so that running out of time does not look like somebody's wish to the caller.
        let stop = cancellation.child();
        let queue = Arc::new(Queue::new(plan, Arc::clone(&events), stop.clone()));
        queue.start();
        self.controls.attach(&queue);
        let mut workers = self.start_workers(&queue, &stop);
        let error = self.attend(&queue, &mut workers, &stop, begun).await;

        self.controls.detach();
        let (status, jobs) = queue.report();
        let by_somebody = stop.cause() == Some(CancelCause::User);
        let exit = if cancellation.is_canceled() || by_somebody {
            RunExit::Interrupted
        } else if error.is_some() {
            RunExit::Environment
        } else if stop.is_canceled() {
            RunExit::JobFailed
        } else {
            exit_of(status, &jobs)
        };
        // A pipeline without a job would count as successful; that it did nothing says more.
        let status = if jobs.is_empty() {
            super::Status::Skipped
        } else {
            status
        };
        let duration = begun.elapsed();
        events.emit(EventKind::PipelineDone {
            status,
            exit_code: exit.code(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        });
        PipelineReport {
            id,
            status,
            exit,
            jobs,
            duration,
            error,
        }
    }

    /// Starts the workers, as many as there are jobs at most.
    fn start_workers(&self, queue: &Arc<Queue>, stop: &Cancellation) -> JoinSet<Ended> {
        let mut workers = JoinSet::new();
        let count = queue.len().min(self.concurrency.get());
        let slots = JobSlots::new();
        for _ in 0..count {
            let worker = Worker {
                config: Arc::clone(&self.config),
                provider: Arc::clone(&self.provider),
                source: Arc::clone(queue) as Arc<dyn JobSource>,
                runner: Arc::clone(&self.runner),
                active: self.active.clone(),
                slots: slots.clone(),
                pause: CAPACITY_PAUSE,
                on_trouble: OnTrouble::GiveUp,
            };
            let stop = stop.clone();
            workers.spawn(async move { worker.run(&stop).await });
        }
        workers
    }

    /// Waits for the workers, and meanwhile for delays, the pipeline's own time and a stop.
    ///
    /// Returns why workers gave up, when none was left to finish the pipeline or one panicked.
    async fn attend(
        &self,
        queue: &Queue,
        workers: &mut JoinSet<Ended>,
        stop: &Cancellation,
        begun: Instant,
    ) -> Option<WorkerError> {
        // A time that no clock will reach is none.
        let deadline = self.timeout.and_then(|timeout| begun.checked_add(timeout));
        let mut error = None;
        let mut panicked = false;
        let mut stopped = false;
        loop {
            let delay = queue.next_delay();
            tokio::select! {
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
                () = queue.delay_changed() => {}
                () = until(delay), if !stopped => queue.end_delays(),
                () = until(deadline), if !stopped => stop.cancel(CancelCause::Timeout),
                () = stop.canceled(), if !stopped => {
                    stopped = true;
                    queue.cancel();
                }
            }
        }
        if queue.is_finished() && !panicked {
            // Other workers finished what one gave up.
            return None;
        }
        queue.cancel();
        error
    }
}

type Ended = Result<(), WorkerError>;

/// Returns why a worker gave up, if it did.
fn trouble_of(ended: Result<Ended, JoinError>) -> Option<WorkerError> {
    match ended {
        Ok(ended) => ended.err(),
        Err(panic) => Some(WorkerError::Panicked(panic.into())),
    }
}

/// Waits until a moment; without one, for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
