use super::queue::Queue;
use async_trait::async_trait;
use executor_core::{
    BuildError, Cancellation, JobAssignment, JobId, JobOutcome, JobRequest, JobRunner, JobSource,
    JobSourceError, NextJob, RunContext,
};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Hands the jobs of a pipeline, and of those that its jobs start, to one crew of workers.
///
/// A job's id tells whose it is. Pipelines that began earlier are served first.
#[derive(Debug)]
pub(super) struct Dispatcher {
    served: Mutex<Vec<Arc<Served>>>,
    /// One permit for each pending job of any pipeline, so that each wakes one worker; closed when
    /// none comes any more.
    ready: Arc<Semaphore>,
    /// Whether no worker is left.
    is_deserted: watch::Sender<bool>,
}

/// A pipeline that runs, and who runs its jobs.
#[derive(Debug)]
struct Served {
    queue: Arc<Queue>,
    runner: Arc<dyn JobRunner>,
}

impl Dispatcher {
    pub(super) fn new() -> Self {
        Self {
            served: Mutex::default(),
            ready: Arc::new(Semaphore::new(0)),
            is_deserted: watch::Sender::new(false),
        }
    }

    /// Returns what a queue adds a permit to for each of its pending jobs.
    pub(super) fn ready(&self) -> &Arc<Semaphore> {
        &self.ready
    }

    /// Serves a pipeline from now on, whose jobs `runner` runs.
    pub(super) fn serve(&self, queue: Arc<Queue>, runner: Arc<dyn JobRunner>) {
        self.lock().push(Arc::new(Served { queue, runner }));
    }

    /// Forgets a pipeline that has ended.
    pub(super) fn dismiss(&self, queue: &Arc<Queue>) {
        self.lock()
            .retain(|served| !Arc::ptr_eq(&served.queue, queue));
    }

    /// Sends the workers home: there will be no job any more.
    pub(super) fn close(&self) {
        self.ready.close();
    }

    /// Returns whether a pipeline has not come to its end.
    pub(super) fn is_unfinished(&self) -> bool {
        self.lock().iter().any(|served| !served.queue.is_finished())
    }

    /// Says that no worker is left, whatever there is to do.
    pub(super) fn close_without_workers(&self) {
        self.is_deserted.send_replace(true);
    }

    /// Waits until no worker is left.
    pub(super) async fn deserted(&self) {
        let mut is_deserted = self.is_deserted.subscribe();
        // The sender lives as long as this.
        let _ = is_deserted.wait_for(|is_so| *is_so).await;
    }

    fn owner(&self, job: JobId) -> Option<Arc<Served>> {
        let served = self.lock();
        let owner = served
            .iter()
            .find(|served| served.queue.place_of_id(job).is_some());
        owner.cloned()
    }

    /// Takes the next pending job of any pipeline.
    fn take(&self) -> Option<Box<JobAssignment>> {
        let served = self.lock();
        served.iter().find_map(|served| served.queue.take())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Served>>> {
        self.served.lock()
    }
}

#[async_trait]
impl JobSource for Dispatcher {
    async fn next(
        &self,
        _request: &JobRequest,
        cancellation: &Cancellation,
    ) -> Result<NextJob, JobSourceError> {
        loop {
            let ready = tokio::select! {
                ready = self.ready.acquire() => ready,
                _ = cancellation.canceled() => return Ok(NextJob::Closed),
            };
            let Ok(permit) = ready else {
                return Ok(NextJob::Closed);
            };
            permit.forget();
            // Without a job it was taken back: its pipeline has been stopped.
            if let Some(job) = self.take() {
                return Ok(NextJob::Job(job));
            }
        }
    }

    async fn finished(&self, job: JobId, outcome: JobOutcome) {
        if let Some(owner) = self.owner(job) {
            owner.queue.finished(job, &outcome);
        } else {
            tracing::warn!(%job, "A job ended that no pipeline has.");
        }
    }
}

#[async_trait]
impl JobRunner for Dispatcher {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        match self.owner(assignment.job.id) {
            Some(owner) => owner.runner.run(assignment, context).await,
            None => JobOutcome::from_error(BuildError::config("the job's pipeline has ended")),
        }
    }
}
