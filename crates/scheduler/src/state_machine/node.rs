use super::needs::Needs;
use super::retry;
use super::tally::Weight;
use crate::Status;
use executor_core::job::{JobDefinition, When};
use pipeline::plan::PlannedJob;
use std::sync::Arc;

/// The state of one job in the machine.
#[derive(Debug, Clone)]
pub(super) struct Node {
    definition: Arc<JobDefinition>,
    pub(super) status: Status,
    pub(super) attempt: u32,
    /// Whether that attempt has begun, or failed before it could.
    pub(super) has_begun: bool,
    pub(super) stage: usize,
    /// `None` for a job that waits for all earlier stages.
    pub(super) needs: Option<Needs>,
    pub(super) is_played: bool,
    /// Whether its failure or cancellation counts as a warning; where exit codes decide, this is known
    /// after the failure.
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

    /// Returns the job's next status when the jobs that it waited for ended as `before`; `is_rescue` says
    /// whether their failures start a job with `when: on_failure`.
    pub(super) fn next(&self, before: Status, is_rescue: bool) -> Status {
        let passed = match before {
            Status::Success => true,
            // A job passes stages that ran no job, but not a need that did not run.
            Status::Skipped => self.needs.is_none(),
            _ => false,
        };
        let proceeds = match self.definition.when {
            When::OnSuccess | When::Manual | When::Delayed => passed,
            // A job that the user selected by name runs without a failure, too.
            When::OnFailure if !self.is_played => is_rescue,
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

    /// Returns whether it starts without the user, and only while nothing has failed.
    pub(super) fn is_for_success(&self) -> bool {
        matches!(self.definition.when, When::OnSuccess | When::Delayed)
    }

    /// Returns its status when only other jobs of its resource group can keep it from starting.
    pub(super) fn ready(&self) -> Status {
        if self.definition.resource_group.is_some() {
            Status::WaitingForResource
        } else {
            Status::Pending
        }
    }

    /// Returns whether it is retried after an attempt that failed in this way.
    pub(super) fn is_retried(&self, reason: Option<&str>, exit_code: Option<i32>) -> bool {
        let retries = retry::allowed(self.definition.retry.as_ref(), reason, exit_code);
        self.attempt <= retries && self.status != Status::Canceling
    }

    /// Begins a further attempt, unless the current one has not begun.
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
