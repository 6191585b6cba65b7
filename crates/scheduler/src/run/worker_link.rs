use super::message::{JobKey, Message};
use crate::job_log::LogObserver;
use async_trait::async_trait;
use executor_core::variable::JobVariable;
use executor_core::{
    BuildError, Cancellation, JobAssignment, JobId, JobOutcome, JobRequest, JobRunner, JobSource,
    JobSourceError, NextJob, RunContext,
};
use parking_lot::Mutex;
use pipeline::plan::{LAST, Plan};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Connects one worker with the owner task.
#[derive(Debug)]
pub(super) struct WorkerLink {
    owner: mpsc::UnboundedSender<Message>,
    /// The job that the worker runs, with its runner.
    current: Mutex<Option<(JobKey, Arc<dyn JobRunner>)>>,
}

/// A job on its way to a worker.
#[derive(Debug)]
pub(super) struct Handout {
    pub(super) job: JobKey,
    pub(super) runner: Arc<dyn JobRunner>,
    pub(super) attempt: Attempt,
}

/// An attempt of a job that has begun, before its payload is computed.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) plan: Arc<Plan>,
    /// The job's index in the plan.
    pub(super) index: usize,
    /// The number of the attempt, from 1.
    pub(super) number: u32,
    /// The variables from the dotenv reports of the jobs whose artifacts the job fetches.
    pub(super) reported: Vec<JobVariable>,
    /// The variables that the user started the job with.
    pub(super) played_with: Vec<JobVariable>,
    pub(super) observer: Arc<LogObserver>,
    pub(super) cancellation: Cancellation,
}

impl WorkerLink {
    pub(super) fn new(owner: mpsc::UnboundedSender<Message>) -> Self {
        Self {
            owner,
            current: Mutex::default(),
        }
    }
}

#[async_trait]
impl JobSource for WorkerLink {
    // The cancellation is left to the owner task: a reply that arrives together with it carries a
    // job that has begun.
    async fn next(
        &self,
        _request: &JobRequest,
        _cancellation: &Cancellation,
    ) -> Result<NextJob, JobSourceError> {
        let (reply, handout) = oneshot::channel();
        if self.owner.send(Message::JobWanted(reply)).is_err() {
            return Ok(NextJob::Closed);
        }
        let Ok(Handout {
            job,
            runner,
            attempt,
        }) = handout.await
        else {
            return Ok(NextJob::Closed);
        };
        *self.current.lock() = Some((job, runner));
        Ok(NextJob::Job(Box::new(attempt.into_assignment())))
    }

    async fn finished(&self, id: JobId, outcome: JobOutcome) {
        let current = self.current.lock().take();
        let Some((job, _)) = current else {
            tracing::warn!(job = %id, "A job ended that this worker did not take.");
            return;
        };
        // Without an owner task the run has ended, and so has its report.
        let _ = self.owner.send(Message::JobEnded { job, outcome });
    }
}

#[async_trait]
impl JobRunner for WorkerLink {
    async fn run(&self, assignment: JobAssignment, context: RunContext) -> JobOutcome {
        let runner = self
            .current
            .lock()
            .as_ref()
            .map(|(_, runner)| Arc::clone(runner));
        match runner {
            Some(runner) => runner.run(assignment, context).await,
            None => JobOutcome::from_error(BuildError::config("the worker took no job")),
        }
    }
}

impl Attempt {
    /// Computes the payload.
    pub(super) fn into_assignment(self) -> JobAssignment {
        let mut job = self.plan.payload_with(self.index, &self.reported);
        add_variables(&mut job.variables, self.played_with);
        JobAssignment {
            job: Arc::new(job),
            attempt: self.number,
            observer: self.observer,
            cancellation: self.cancellation,
        }
    }
}

/// Adds the variables that the user started a job with. They override all others, except those
/// that describe the job's environment.
fn add_variables(variables: &mut Vec<JobVariable>, more: Vec<JobVariable>) {
    for variable in more {
        let known = variables.iter_mut().find(|known| known.key == variable.key);
        match known {
            Some(_) if LAST.contains(&variable.key.as_str()) => {}
            Some(known) => *known = variable,
            None => variables.push(variable),
        }
    }
}
