//! What a queue does when an attempt of a job has ended.

use super::machine::Finish;
use super::queue::Queue;
use super::{Status, StatusChange};
use crate::event::EventKind;
use executor_core::{FailureReason, JobId, JobOutcome, JobState};
use std::sync::Arc;

impl Queue {
    /// Returns the place of the job with this id, if it is one of this pipeline.
    pub(super) fn place_of_id(&self, job: JobId) -> Option<usize> {
        self.plan.position_of(job)
    }

    /// Takes note of how a job has ended that was taken.
    pub(super) fn finished(&self, job: JobId, outcome: &JobOutcome) {
        let Some(index) = self.place_of_id(job) else {
            tracing::warn!(%job, "A job ended that this pipeline does not have.");
            return;
        };
        let mut state = self.lock();
        let attempt = state.machine.attempt(index);
        let duration = state.records[index].end(outcome);
        let changes = state.machine.finished(index, finish(outcome));
        let is_own = |change: &&StatusChange| change.job == index && change.attempt == attempt;
        let own = usize::from(changes.first().as_ref().is_some_and(is_own));
        if own == 0 {
            // The machine goes straight to the next attempt; whoever watches sees this one end.
            self.tell(&state, index, status_of(outcome.state), attempt);
        }
        let record = &state.records[index];
        let products = record.products();
        let finished = EventKind::JobFinished {
            job: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status: status_of(outcome.state),
            exit_code: outcome.exit_code().map(|code| code.0),
            failure_reason: outcome.failure_reason(),
            allow_failure: state.machine.may_fail(index),
            attempt,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            tests: products.and_then(|products| products.tests.clone()),
            coverage: products.and_then(|products| products.coverage),
            reused: outcome.reused,
            changed: products.and_then(|products| products.changed.clone()),
            artifacts: products.map_or_else(Vec::new, |products| products.artifacts.clone()),
        };
        // First the job's own end, then what it means for others or for its next attempt.
        self.apply(&mut state, &changes[..own]);
        self.events.emit(finished);
        self.apply(&mut state, &changes[own..]);
    }

    /// Takes note that a job which started another pipeline has the status of that: it waits for
    /// somebody, or nothing was done.
    pub(super) fn leave(&self, job: usize, status: Status) {
        let mut state = self.lock();
        state.records[job].end(&JobOutcome::success());
        let changes = state.machine.mirrored(job, status);
        self.apply(&mut state, &changes);
    }
}

fn finish(outcome: &JobOutcome) -> Finish<'static> {
    match status_of(outcome.state) {
        Status::Success => Finish::Success,
        Status::Canceled => Finish::Canceled,
        _ => Finish::Failed {
            exit_code: outcome.exit_code().map(|code| code.0),
            reason: outcome.failure_reason().map(FailureReason::as_str),
        },
    }
}

/// A job runner that returns before a job has ended has failed.
fn status_of(state: JobState) -> Status {
    match state {
        JobState::Success => Status::Success,
        JobState::Canceled => Status::Canceled,
        JobState::Failed | JobState::Pending | JobState::Running => Status::Failed,
    }
}
