//! Requests to a running pipeline: play, retry and cancel jobs, and its status.

use super::RunningPipeline;
use crate::Status;
use crate::run::controls::{ControlError, JobSnapshot, PipelineSnapshot};
use executor_core::{CancelCause, JobVariable};
use pipeline::plan::PlannedJob;
use std::sync::Arc;
use yaml::suggest::nearest;

impl RunningPipeline {
    /// Starts a manual job, or a delayed one before its time.
    pub(in crate::run) fn play(
        &mut self,
        job: &str,
        variables: Vec<JobVariable>,
    ) -> Result<(), ControlError> {
        let index = self.index_of(job)?;
        let status = self.machine.status(index);
        let changes = match status {
            Status::Manual => self.machine.play(index),
            Status::Scheduled => self.machine.delay_over(index),
            _ => {
                let job = job.to_owned();
                return Err(ControlError::NotPlayable { job, status });
            }
        };
        self.records[index].variables = variables;
        self.apply(&changes);
        Ok(())
    }

    /// Runs a job again that has ended.
    pub(in crate::run) fn retry(&mut self, job: &str) -> Result<(), ControlError> {
        let index = self.index_of(job)?;
        if self.stop.is_canceled() {
            return Err(ControlError::Canceling);
        }
        let status = self.machine.status(index);
        if !status.is_retryable() {
            let job = job.to_owned();
            return Err(ControlError::NotRetryable { job, status });
        }
        self.records[index].forget_result();
        let changes = self.machine.retry(index);
        self.apply(&changes);
        Ok(())
    }

    /// Cancels one job.
    pub(in crate::run) fn cancel_job(&mut self, job: &str) -> Result<(), ControlError> {
        let index = self.index_of(job)?;
        let status = self.machine.status(index);
        if status.is_final() {
            let job = job.to_owned();
            return Err(ControlError::NotCancelable { job, status });
        }
        self.records[index].cancel(CancelCause::User);
        let changes = self.machine.cancel_job(index);
        self.apply(&changes);
        Ok(())
    }

    /// Returns the status of the pipeline and of its jobs.
    pub(in crate::run) fn snapshot(&self) -> PipelineSnapshot {
        let jobs = self.records.iter().enumerate();
        let jobs = jobs.map(|(index, record)| JobSnapshot {
            name: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status: self.machine.status(index),
            attempt: self.machine.attempt(index),
        });
        PipelineSnapshot {
            status: self.machine.pipeline_status(),
            jobs: jobs.collect(),
        }
    }

    fn index_of(&self, job: &str) -> Result<usize, ControlError> {
        self.plan.position(job).ok_or_else(|| {
            let names = self.plan.jobs().iter().map(PlannedJob::name);
            ControlError::UnknownJob {
                job: job.to_owned(),
                suggestion: nearest(job, names).map(ToOwned::to_owned),
            }
        })
    }
}
