use super::machine::Machine;
use super::observer::LogObserver;
use crate::plan::PlannedJob;
use crate::report::JobReport;
use executor_core::{CancelCause, Cancellation, JobOutcome, JobProducts, JobState, JobVariable};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What is known of one job besides its status.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) name: Arc<str>,
    pub(super) stage: Arc<str>,
    /// The variables it was started with by hand.
    pub(super) variables: Vec<JobVariable>,
    /// The attempt that runs.
    running: Option<Running>,
    attempts: u32,
    duration: Duration,
    outcome: Option<JobOutcome>,
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
            attempts: 0,
            duration: Duration::ZERO,
            outcome: None,
            last_lines: Vec::new(),
            exposed_as: artifacts.and_then(|artifacts| artifacts.expose_as.clone()),
        }
    }

    /// Notes that an attempt begins.
    pub(super) fn begin(&mut self, observer: Arc<LogObserver>, cancellation: Cancellation) {
        self.running = Some(Running {
            since: Instant::now(),
            observer,
            cancellation,
        });
        self.attempts += 1;
    }

    /// Tells the attempt that runs to stop.
    pub(super) fn stop(&self, cause: CancelCause) {
        if let Some(running) = &self.running {
            running.cancellation.cancel(cause);
        }
    }

    /// Notes how an attempt ended and returns how long it took.
    pub(super) fn end(&mut self, outcome: &JobOutcome) -> Duration {
        let mut outcome = outcome.clone();
        let mut duration = Duration::ZERO;
        if let Some(running) = self.running.take() {
            duration = running.since.elapsed();
            self.duration += duration;
            self.last_lines = running.observer.finish(outcome.state == JobState::Success);
            if let Some(coverage) = running.observer.coverage() {
                Arc::make_mut(&mut outcome.products).coverage = Some(coverage);
            }
        }
        self.outcome = Some(outcome);
        duration
    }

    /// Returns what the last attempt that ended has left.
    pub(super) fn products(&self) -> Option<&Arc<JobProducts>> {
        self.outcome.as_ref().map(|outcome| &outcome.products)
    }

    pub(super) fn report(&self, job: usize, machine: &Machine) -> JobReport {
        let outcome = self.outcome.as_ref();
        JobReport {
            name: self.name.to_string(),
            stage: self.stage.to_string(),
            status: machine.status(job),
            exit_code: outcome.and_then(JobOutcome::exit_code).map(|code| code.0),
            failure_reason: outcome.and_then(JobOutcome::failure_reason),
            error: outcome.and_then(|outcome| outcome.error.clone()),
            allow_failure: machine.may_fail(job),
            attempts: self.attempts,
            duration: self.duration,
            last_lines: self.last_lines.clone(),
            products: self.products().cloned().unwrap_or_default(),
            exposed_as: self.exposed_as.clone(),
        }
    }
}
