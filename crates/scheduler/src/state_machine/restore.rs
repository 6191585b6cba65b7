//! Brings a machine to where an earlier run of its pipeline stood.

use super::machine::Machine;
use super::node::Node;
use crate::run::{BegunJob, FinishedJob, RunProgress};
use crate::{Status, StatusChange};
use executor_core::FailureReason;
use executor_core::job::When;
use pipeline::plan::Plan;

impl Machine {
    /// Returns the machine of a plan of which so much has happened; [`start`](Self::start) goes on.
    ///
    /// Jobs are known by their names: those that the progress does not mention are decided now, and
    /// what it says of others is not asked for. A job that ran is pending again.
    pub fn restore(plan: &Plan, progress: &RunProgress) -> Self {
        let mut machine = Self::new(plan);
        if progress.is_empty() {
            return machine;
        }
        let mut wanted = Vec::new();
        for (job, planned) in plan.jobs().iter().enumerate() {
            if let Some(finished) = progress.finished.get(planned.name()) {
                machine.recall_finished(job, finished);
            } else if let Some(begun) = progress.begun.get(planned.name()) {
                machine.recall_begun(job, begun);
                if planned.definition.when == When::Manual || begun.again {
                    wanted.push(job);
                }
            }
        }
        for job in wanted {
            // The run may have died before it had told all that playing it, or running it again, led to.
            if self_starts(machine.status(job)) {
                machine.finish_reviving(job);
            }
        }
        machine
    }

    fn recall_finished(&mut self, job: usize, finished: &FinishedJob) {
        let node = &mut self.jobs[job];
        node.attempt = finished.attempts.max(1);
        node.has_begun = finished.attempts > 0;
        let reason = finished.failure_reason.map(FailureReason::as_str);
        let status = match finished.status {
            // The run died before it had told that the job is tried again.
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

    fn recall_begun(&mut self, job: usize, begun: &BegunJob) {
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

    /// Notes where a job stands by what was told of it, whatever led to that. What follows for others is
    /// told too, or [`start`](Self::start) finds it out.
    pub fn put(&mut self, job: usize, status: Status, attempt: u32) {
        self.jobs[job].attempt = attempt;
        if self.jobs[job].status != status {
            self.set(job, status);
            self.changes.clear();
        }
    }

    /// Notes whether the failure of a job counts as a warning only, which may be told after it failed.
    pub fn forgive(&mut self, job: usize, may_fail: bool) {
        let Node {
            status, attempt, ..
        } = self.jobs[job];
        if self.jobs[job].may_fail != may_fail {
            // Whoever counts it has to forget how it counted.
            self.put(job, Status::Running, attempt);
            self.jobs[job].may_fail = may_fail;
            self.put(job, status, attempt);
        }
    }

    /// Begins: the first jobs become pending, after those of earlier runs are told.
    pub fn start(&mut self) -> Vec<StatusChange> {
        let first = (0..self.jobs.len()).filter(|&job| self.outcome_before(job).is_some());
        self.undecided = first.collect();
        let mut jobs = self.jobs.iter();
        if self.stops_at_failure && jobs.any(|job| job.status == Status::Failed && !job.may_fail) {
            // An earlier run died before it had told all others.
            return self.cancel();
        }
        self.settle()
    }
}

/// Returns whether a job in this status runs or will without anybody's help, and has not begun.
fn self_starts(status: Status) -> bool {
    matches!(status, Status::Pending | Status::WaitingForResource)
}
