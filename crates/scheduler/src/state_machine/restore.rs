//! Restores a machine from the progress of an earlier run.

use super::machine::Machine;
use super::node::Node;
use crate::run::{BegunJob, FinishedJob, RunProgress};
use crate::{Status, StatusChange};
use executor_core::FailureReason;
use executor_core::job::When;
use pipeline::plan::Plan;

impl Machine {
    /// Returns the machine of a plan with the progress of an earlier run; [`start`](Self::start)
    /// continues it.
    ///
    /// Jobs are matched by name: jobs without progress are decided now, and progress without a job is
    /// ignored. A job that was running is pending again.
    pub fn restore(plan: &Plan, progress: &RunProgress) -> Self {
        let mut machine = Self::new(plan);
        if progress.is_empty() {
            return machine;
        }
        let mut requested = Vec::new();
        for (job, planned) in plan.jobs().iter().enumerate() {
            if let Some(finished) = progress.finished.get(planned.name()) {
                machine.restore_finished(job, finished);
            } else if let Some(begun) = progress.begun.get(planned.name()) {
                machine.restore_begun(job, begun);
                if planned.definition.when == When::Manual || begun.again {
                    requested.push(job);
                }
            }
        }
        for job in requested {
            // The run may have died before it reported all effects of the user's request.
            if self_starts(machine.status(job)) {
                machine.finish_reviving(job);
            }
        }
        machine
    }

    fn restore_finished(&mut self, job: usize, finished: &FinishedJob) {
        let node = &mut self.jobs[job];
        node.attempt = finished.attempts.max(1);
        node.has_begun = finished.attempts > 0;
        let reason = finished.failure_reason.map(FailureReason::as_str);
        let status = match finished.status {
            // The run died before it reported that the job is retried.
            Status::Failed if node.is_retried(reason, finished.exit_code) => {
                node.begin_anew();
                node.ready()
            }
            Status::Failed | Status::Canceled => {
                node.may_fail = finished.allow_failure;
                finished.status
            }
            status if status.is_final() => status,
            _ => return,
        };
        self.set(job, status);
    }

    fn restore_begun(&mut self, job: usize, begun: &BegunJob) {
        let node = &mut self.jobs[job];
        node.attempt = begun.attempt.max(1);
        node.is_played |= begun.played;
        let status = match begun.status {
            Status::WaitingForResource | Status::Pending | Status::Running | Status::Canceling => {
                node.ready()
            }
            Status::Manual if node.is_played => node.ready(),
            status @ (Status::Manual | Status::Scheduled) => status,
            _ => return,
        };
        self.set(job, status);
    }

    /// Sets the status and the attempt of a job as an event reported them. The effects on other jobs are
    /// reported too, or [`start`](Self::start) computes them.
    pub fn put(&mut self, job: usize, status: Status, attempt: u32) {
        self.jobs[job].attempt = attempt;
        if self.jobs[job].status != status {
            self.set(job, status);
            self.changes.clear();
        }
    }

    /// Sets whether the failure of a job counts as a warning, which an event may report after the failure.
    pub fn forgive(&mut self, job: usize, may_fail: bool) {
        let Node {
            status, attempt, ..
        } = self.jobs[job];
        if self.jobs[job].may_fail != may_fail {
            // The counters uncount it with its old weight first.
            self.put(job, Status::Running, attempt);
            self.jobs[job].may_fail = may_fail;
            self.put(job, status, attempt);
        }
    }

    /// Begins: decides all jobs that can be decided.
    pub fn start(&mut self) -> Vec<StatusChange> {
        let first = (0..self.jobs.len()).filter(|&job| self.outcome_before(job).is_some());
        self.undecided = first.collect();
        let mut jobs = self.jobs.iter();
        if self.stops_at_failure && jobs.any(|job| job.status == Status::Failed && !job.may_fail) {
            // An earlier run died before it canceled all others.
            return self.cancel();
        }
        self.settle()
    }
}

/// Returns whether a job in this status will run without the user, and has not begun.
fn self_starts(status: Status) -> bool {
    matches!(status, Status::Pending | Status::WaitingForResource)
}
