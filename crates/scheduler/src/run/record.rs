use super::progress::{BegunJob, FinishedJob, RunProgress};
use crate::job_log::LogObserver;
use crate::report::JobReport;
use crate::resource_groups::ResourceLease;
use crate::state_machine::Machine;
use executor_core::{
    CancelCause, Cancellation, FailureReason, JobOutcome, JobProducts, JobState, JobVariable,
    ReusedFrom,
};
use jiff::Timestamp;
use pipeline::plan::PlannedJob;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What a running pipeline knows of a job besides its status.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: Arc<str>,
    pub(super) stage: Arc<str>,
    /// The variables that the user started the job with.
    pub(super) variables: Vec<JobVariable>,
    /// The attempt that runs.
    running: Option<Running>,
    /// Stops the wait for the resource group.
    pub(super) waiting: Option<Cancellation>,
    /// The lease of the resource group.
    pub(super) lease: Option<ResourceLease>,
    /// When the job got the status that it had at the end of an earlier run.
    pub(super) since: Option<Timestamp>,
    attempts: u32,
    duration: Duration,
    /// Whether the user requested the next attempt.
    is_requested: bool,
    outcome: Option<JobOutcome>,
    /// The result from an earlier run.
    earlier: Option<FinishedJob>,
    last_lines: Vec<String>,
    /// The label of `artifacts:expose_as`.
    exposed_as: Option<String>,
}

/// An attempt that runs.
#[derive(Debug, Clone)]
struct Running {
    since: Instant,
    observer: Arc<LogObserver>,
    cancellation: Cancellation,
}

impl Record {
    pub(super) fn new(job: &PlannedJob, stage: &Arc<str>) -> Self {
        let artifacts = job.definition.artifacts.as_ref();
        Self {
            name: job.name().into(),
            stage: Arc::clone(stage),
            variables: Vec::new(),
            running: None,
            waiting: None,
            lease: None,
            since: None,
            attempts: 0,
            duration: Duration::ZERO,
            is_requested: false,
            outcome: None,
            earlier: None,
            last_lines: Vec::new(),
            exposed_as: artifacts.and_then(|artifacts| artifacts.expose_as.clone()),
        }
    }

    /// Takes over the job's state from an earlier run.
    pub(super) fn restore(&mut self, progress: &RunProgress) {
        if let Some(finished) = progress.finished.get(&*self.name) {
            self.attempts = finished.attempts;
            self.duration = finished.duration;
            self.earlier = Some(finished.clone());
        } else if let Some(begun) = progress.begun.get(&*self.name) {
            let BegunJob {
                attempt,
                since,
                variables,
                ..
            } = begun;
            // The interrupted attempt begins again, and is counted then.
            self.attempts = attempt.saturating_sub(1);
            self.since = *since;
            self.variables.clone_from(variables);
        }
    }

    /// Releases the resource group, or stops the wait for it.
    pub(super) fn release(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.cancel(CancelCause::Source);
        }
        self.lease = None;
    }

    /// Forgets the result: the user requested another attempt.
    pub(super) fn forget_result(&mut self) {
        self.is_requested = true;
        self.outcome = None;
        self.earlier = None;
        self.last_lines.clear();
    }

    /// Returns why another attempt begins; `None` for the first one of this run.
    pub(super) fn retry_reason(&self) -> Option<String> {
        if self.is_requested {
            return Some("requested by the user".to_owned());
        }
        let outcome = self.outcome.as_ref()?;
        let reason = outcome.failure_reason()?.as_str();
        Some(match outcome.exit_code() {
            Some(code) => format!("the previous one ended with {reason}, exit code {code}"),
            None => format!("the previous one ended with {reason}"),
        })
    }

    /// Notes that an attempt begins.
    pub(super) fn begin(&mut self, observer: Arc<LogObserver>, cancellation: Cancellation) {
        self.running = Some(Running {
            since: Instant::now(),
            observer,
            cancellation,
        });
        self.attempts += 1;
        self.is_requested = false;
    }

    /// Cancels the attempt that runs. The cause of an earlier cancel, also one of the whole pipeline,
    /// remains.
    pub(super) fn cancel(&self, cause: CancelCause) {
        if let Some(running) = &self.running
            && !running.cancellation.is_canceled()
        {
            running.cancellation.cancel(cause);
        }
    }

    /// Notes the outcome of an attempt and returns how long the attempt took.
    pub(super) fn end(&mut self, outcome: &JobOutcome) -> Duration {
        self.release();
        let mut outcome = outcome.clone();
        let mut duration = Duration::ZERO;
        if let Some(running) = self.running.take() {
            duration = running.since.elapsed().saturating_sub(outcome.visited);
            self.duration += duration;
            self.last_lines = running.observer.finish(outcome.state == JobState::Success);
            if let Some(coverage) = running.observer.coverage() {
                Arc::make_mut(&mut outcome.products).coverage = Some(coverage);
            }
        }
        self.outcome = Some(outcome);
        duration
    }

    /// Returns the products of the last attempt that ended, in this run or an earlier one.
    pub(super) fn products(&self) -> Option<&Arc<JobProducts>> {
        match &self.outcome {
            Some(outcome) => Some(&outcome.products),
            None => Some(&self.earlier.as_ref()?.products),
        }
    }

    /// Returns whether its result is from an earlier run.
    pub(super) fn is_earlier(&self) -> bool {
        self.outcome.is_none() && self.earlier.is_some()
    }

    fn exit_code(&self) -> Option<i32> {
        match &self.outcome {
            Some(outcome) => outcome.exit_code().map(|code| code.0),
            None => self.earlier.as_ref()?.exit_code,
        }
    }

    fn failure_reason(&self) -> Option<FailureReason> {
        match &self.outcome {
            Some(outcome) => outcome.failure_reason(),
            None => self.earlier.as_ref()?.failure_reason,
        }
    }

    /// Returns the run whose result was reused for the last attempt.
    fn reused(&self) -> Option<ReusedFrom> {
        match &self.outcome {
            Some(outcome) => outcome.reused,
            None => self.earlier.as_ref()?.reused,
        }
    }

    pub(super) fn report(&self, job: usize, machine: &Machine) -> JobReport {
        let outcome = self.outcome.as_ref();
        JobReport {
            name: self.name.to_string(),
            stage: self.stage.to_string(),
            status: machine.status(job),
            exit_code: self.exit_code(),
            failure_reason: self.failure_reason(),
            error: outcome.and_then(|outcome| outcome.error.clone()),
            allow_failure: machine.may_fail(job),
            attempts: self.attempts,
            duration: self.duration,
            last_lines: self.last_lines.clone(),
            products: self.products().cloned().unwrap_or_default(),
            exposed_as: self.exposed_as.clone(),
            reused: self.reused(),
        }
    }
}
