//! What a queue does when somebody tells it to, and what it does for resource groups.

use super::Status;
use super::controls::{ControlError, JobSnapshot, PipelineSnapshot};
use super::queue::{Queue, State};
use executor_core::{CancelCause, JobVariable};
use pipeline::plan::PlannedJob;
use std::sync::Arc;
use yaml::suggest::nearest;

impl Queue {
    /// Starts a manual job, or a delayed one before its time.
    pub(super) fn play(&self, job: &str, variables: Vec<JobVariable>) -> Result<(), ControlError> {
        let mut state = self.lock();
        let place = self.place_of(job)?;
        let status = state.machine.status(place);
        let changes = match status {
            Status::Manual => state.machine.play(place),
            Status::Scheduled => state.machine.delay_over(place),
            _ => {
                let job = job.to_owned();
                return Err(ControlError::NotPlayable { job, status });
            }
        };
        state.records[place].variables = variables;
        self.apply(&mut state, &changes);
        Ok(())
    }

    /// Runs a job again that has ended.
    pub(super) fn retry(&self, job: &str) -> Result<(), ControlError> {
        let mut state = self.lock();
        let place = self.place_of(job)?;
        if self.cancellation.is_canceled() {
            return Err(ControlError::Canceling);
        }
        let status = state.machine.status(place);
        if !status.is_retryable() {
            let job = job.to_owned();
            return Err(ControlError::NotRetryable { job, status });
        }
        state.records[place].forget_end();
        let changes = state.machine.retry(place);
        self.apply(&mut state, &changes);
        Ok(())
    }

    /// Cancels one job.
    pub(super) fn cancel_job(&self, job: &str) -> Result<(), ControlError> {
        let mut state = self.lock();
        let place = self.place_of(job)?;
        let status = state.machine.status(place);
        // One that is told again may be in a hurry, but there is no more to tell it.
        if status.is_final() {
            let job = job.to_owned();
            return Err(ControlError::NotCancelable { job, status });
        }
        state.records[place].stop(CancelCause::User);
        let changes = state.machine.cancel_job(place);
        self.apply(&mut state, &changes);
        Ok(())
    }

    /// Cancels the pipeline; its driver hears of it and does the rest.
    pub(super) fn cancel_all(&self) {
        self.cancellation.cancel(CancelCause::User);
    }

    /// Returns where the pipeline and its jobs stand.
    pub(super) fn snapshot(&self) -> PipelineSnapshot {
        let state = self.lock();
        let State {
            machine, records, ..
        } = &*state;
        let jobs = records.iter().enumerate().map(|(at, record)| JobSnapshot {
            name: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status: machine.status(at),
            attempt: machine.attempt(at),
        });
        PipelineSnapshot {
            status: machine.pipeline_status(),
            jobs: jobs.collect(),
        }
    }

    /// Returns the place of a job of a pipeline that still runs.
    fn place_of(&self, job: &str) -> Result<usize, ControlError> {
        if self.is_closed() {
            return Err(ControlError::Ended);
        }
        self.plan.position(job).ok_or_else(|| {
            let names = self.plan.jobs().iter().map(PlannedJob::name);
            ControlError::UnknownJob {
                job: job.to_owned(),
                suggestion: nearest(job, names).map(ToOwned::to_owned),
            }
        })
    }
}
