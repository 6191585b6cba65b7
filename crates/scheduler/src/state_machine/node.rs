use super::needs::Needs;
use super::retry;
use super::tally::Weight;
use crate::Status;
use executor_core::job::{JobDefinition, When};
use pipeline::plan::PlannedJob;
use std::sync::Arc;

/// What a machine knows of one job.
#[derive(Debug, Clone)]
pub(super) struct Node {
    definition: Arc<JobDefinition>,
    pub(super) status: Status,
    pub(super) attempt: u32,
    /// Whether that attempt has begun, or has failed before it could.
    pub(super) has_begun: bool,
    pub(super) stage: usize,
    /// `None` for a job that waits for all earlier stages.
    pub(super) needs: Option<Needs>,
    pub(super) is_played: bool,
    /// Whether its failure or cancellation counts as a warning; with exit codes that is known when
    /// it has failed.
    pub(super) may_fail: bool,
}

impl Node {
    pub(super) fn new(job: &PlannedJob) -> Self {
        Self {
            definition: Arc::clone(&job.definition),
            status: Status::Created,
            attempt: 1,
            has_begun: false,
            stage: job.stage_index,
            needs: job.needs.as_ref().map(|needs| Needs::of(needs.len())),
            is_played: job.is_played,
            may_fail: job.definition.allow_failure,
        }
    }

    pub(super) fn weight(&self) -> Weight {
        Weight::of(self.status, self.may_fail)
    }

    /// Returns what becomes of it after what it waited for came to `before`; `rescues` says whether
    /// something failed, allowed or not, that jobs for failures are there for.
    pub(super) fn next(&self, before: Status, rescues: bool) -> Status {
        let passed = match before {
            Status::Success => true,
            // Stages without anything to do are no obstacle, a need that does not run is one.
            Status::Skipped => self.needs.is_none(),
            _ => false,
        };
        let proceeds = match self.definition.when {
            When::OnSuccess | When::Manual | When::Delayed => passed,
            // Somebody who asked for a job by name wants it to run, failure or not.
            When::OnFailure if !self.is_played => rescues,
            When::Always | When::OnFailure => before != Status::Canceled,
            When::Never => false,
        };
        match self.definition.when {
            _ if !proceeds => Status::Skipped,
            When::Manual if !self.is_played => Status::Manual,
            When::Delayed => Status::Scheduled,
            _ => self.ready(),
        }
    }

    /// Returns whether it starts by itself, and only as long as nothing has failed.
    pub(super) fn is_for_success(&self) -> bool {
        matches!(self.definition.when, When::OnSuccess | When::Delayed)
    }

    /// Returns where it stands when nothing but others of its resource group keeps it from starting.
    pub(super) fn ready(&self) -> Status {
        if self.definition.resource_group.is_some() {
            Status::WaitingForResource
        } else {
            Status::Pending
        }
    }

    /// Returns whether it is tried again after an attempt that failed in this way.
    pub(super) fn is_retried(&self, reason: Option<&str>, exit_code: Option<i32>) -> bool {
        let retries = retry::allowed(self.definition.retry.as_ref(), reason, exit_code);
        self.attempt <= retries && self.status != Status::Canceling
    }

    /// Goes on to a further attempt, unless the one it is at has not begun.
    pub(super) fn begin_anew(&mut self) {
        self.attempt += u32::from(self.has_begun);
        self.has_begun = false;
        self.may_fail = self.definition.allow_failure;
    }

    /// Returns whether the job may fail with this exit code.
    pub(super) fn allows(&self, exit_code: Option<i32>) -> bool {
        let mut allowed = self.definition.allow_failure_exit_codes.iter().flatten();
        self.definition.allow_failure || allowed.any(|&code| Some(code) == exit_code)
    }
}
