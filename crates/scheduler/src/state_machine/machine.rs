use super::needs::{Dependents, Needed};
use super::node::Node;
use super::stages::Stages;
use super::tally::Tally;
use crate::{Status, StatusChange};
use pipeline::plan::Plan;
use pipeline::{RescueRule, SchedulingPolicy, StartRule};
use std::collections::{BTreeSet, VecDeque};

/// Decides which jobs of a pipeline may start.
///
/// Every input returns the status changes it leads to, in order; an input that does not fit the status
/// of its job, such as a second end, leads to none. An input costs the needs and stages it affects,
/// never the whole pipeline: each job and stage counts the results of its predecessors.
///
/// A job is given as its index in the plan; any other index panics.
#[derive(Debug, Clone)]
pub struct Machine {
    pub(super) jobs: Vec<Node>,
    dependents: Dependents,
    stages: Stages,
    pipeline: Tally,
    /// How many jobs run, or will run without the user.
    active: usize,
    /// The skipped jobs: when the user starts another job, they may be decided again.
    skipped: BTreeSet<usize>,
    /// Jobs that may be decided now because their predecessors changed.
    pub(super) undecided: VecDeque<usize>,
    /// Whether the failure of one job cancels all others.
    pub(super) stops_at_failure: bool,
    policy: SchedulingPolicy,
    pub(super) changes: Vec<StatusChange>,
}

/// How one attempt of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish<'a> {
    /// It succeeded.
    Success,
    /// It failed.
    Failed {
        /// The script's exit code, when the script failed.
        exit_code: Option<i32>,
        /// The failure reason, as GitLab names it.
        reason: Option<&'a str>,
    },
    /// It was canceled.
    Canceled,
}

impl Machine {
    /// Returns the machine of a plan; nothing has begun.
    pub fn new(plan: &Plan) -> Self {
        Self {
            jobs: plan.jobs().iter().map(Node::new).collect(),
            dependents: Dependents::new(plan),
            stages: Stages::new(plan),
            pipeline: Tally::of_created(plan.jobs().len()),
            active: 0,
            skipped: BTreeSet::new(),
            undecided: VecDeque::new(),
            stops_at_failure: plan.stops_at_failure(),
            policy: plan.scheduling_policy(),
            changes: Vec::new(),
        }
    }

    /// Notes that a pending job runs.
    pub fn started(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status == Status::Pending {
            self.jobs[job].has_begun = true;
            self.set(job, Status::Running);
        }
        self.settle()
    }

    /// Notes how an attempt ended; a job that is retried becomes pending, or waits for its resource group
    /// again. With `auto_cancel:on_job_failure: all`, a failure cancels all other jobs.
    pub fn finished(&mut self, job: usize, finish: Finish<'_>) -> Vec<StatusChange> {
        let node = &mut self.jobs[job];
        if !matches!(
            node.status,
            Status::WaitingForResource | Status::Pending | Status::Running | Status::Canceling
        ) {
            return Vec::new();
        }
        node.has_begun = true;
        let status = match finish {
            Finish::Success => Status::Success,
            Finish::Canceled => Status::Canceled,
            Finish::Failed { exit_code, reason } if node.is_retried(reason, exit_code) => {
                node.begin_anew();
                node.ready()
            }
            Finish::Failed { exit_code, .. } => {
                node.may_fail = node.allows(exit_code);
                Status::Failed
            }
        };
        let (stage, is_hard) = (node.stage, status == Status::Failed && !node.may_fail);
        self.set(job, status);
        if is_hard && self.stops_at_failure {
            return self.cancel();
        }
        if is_hard && self.policy.start == StartRule::UntilStageFails {
            self.drop_pending(stage);
        }
        self.settle()
    }

    /// Notes that a bridge gets the status of its pipeline where [`finished`](Self::finished) cannot
    /// express it: the pipeline waits for the user, or ran no job.
    pub fn mirrored(&mut self, job: usize, status: Status) -> Vec<StatusChange> {
        if matches!(self.jobs[job].status, Status::Running | Status::Canceling) {
            self.set(job, status);
        }
        self.settle()
    }

    /// Starts a manual job; the skipped jobs behind it are decided again.
    pub fn play(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status != Status::Manual {
            return Vec::new();
        }
        self.set(job, self.jobs[job].ready());
        self.revive_behind(job);
        self.settle()
    }

    /// Runs a job again that has ended; the skipped jobs behind it are decided again. Jobs that have
    /// ended keep their results.
    pub fn retry(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status.is_retryable() {
            // The old result is uncounted first, with the weight that it had.
            self.set_unreported(job, Status::Created);
            self.jobs[job].begin_anew();
            self.set(job, self.jobs[job].ready());
            self.revive_behind(job);
        }
        self.settle()
    }

    /// Notes that the delay of a scheduled job has ended.
    pub fn delay_over(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status == Status::Scheduled {
            self.set(job, self.jobs[job].ready());
        }
        self.settle()
    }

    /// Notes that a job has got its resource group.
    pub fn resource_granted(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status == Status::WaitingForResource {
            self.set(job, Status::Pending);
        }
        self.settle()
    }

    /// Cancels one job: a running job is canceling, and a job that has not run is canceled.
    pub fn cancel_job(&mut self, job: usize) -> Vec<StatusChange> {
        if let Some(status) = self.jobs[job].status.when_canceled() {
            self.set(job, status);
        }
        self.settle()
    }

    /// Cancels the pipeline: running jobs are canceling, and jobs that have not run are canceled.
    pub fn cancel(&mut self) -> Vec<StatusChange> {
        for job in 0..self.jobs.len() {
            if let Some(status) = self.jobs[job].status.when_canceled() {
                self.set(job, status);
            }
        }
        // No job is left to decide.
        self.undecided.clear();
        std::mem::take(&mut self.changes)
    }

    /// Returns the status of a job.
    pub fn status(&self, job: usize) -> Status {
        self.jobs[job].status
    }

    /// Returns the number of a job's attempt, from 1.
    pub fn attempt(&self, job: usize) -> u32 {
        self.jobs[job].attempt
    }

    /// Returns whether the failure of a job counts as a warning only.
    pub fn may_fail(&self, job: usize) -> bool {
        self.jobs[job].may_fail
    }

    /// Returns the status of a stage.
    pub fn stage_status(&self, stage: usize) -> Status {
        self.stages.status(stage)
    }

    /// Returns the status of the pipeline.
    pub fn pipeline_status(&self) -> Status {
        self.pipeline.status()
    }

    /// Returns whether no job runs, or will run unless the user starts one.
    pub fn is_finished(&self) -> bool {
        self.active == 0
    }

    /// Decides all jobs that can be decided, until nothing changes.
    pub(super) fn settle(&mut self) -> Vec<StatusChange> {
        loop {
            while let Some(jobs) = self.stages.advance() {
                // Jobs with needs are decided by their needs.
                let jobs = jobs.filter(|&job| self.jobs[job].needs.is_none());
                self.undecided.extend(jobs);
            }
            let batch_runs = self.policy.start == StartRule::InBatches && self.active > 0;
            if self.undecided.is_empty() || batch_runs {
                return std::mem::take(&mut self.changes);
            }
            // The jobs that these lead to are another batch.
            for _ in 0..self.undecided.len() {
                if let Some(job) = self.undecided.pop_front() {
                    self.decide(job);
                }
            }
        }
    }

    fn decide(&mut self, job: usize) {
        if self.jobs[job].status != Status::Created {
            return;
        }
        if let Some(before) = self.outcome_before(job) {
            let is_rescue = before == Status::Failed
                || (self.policy.rescue == RescueRule::AllFailures
                    && before == Status::Success
                    && self.has_warned_before(job));
            let node = &self.jobs[job];
            // An earlier run may have dropped the job, or its stage has failed before it was decided.
            let is_stopped = self.policy.start == StartRule::UntilStageFails
                && node.is_for_success()
                && self.stages.has_failed(node.stage);
            let next = if is_stopped {
                Status::Skipped
            } else {
                node.next(before, is_rescue)
            };
            self.set(job, next);
        }
    }

    /// Returns whether a job that this one waited for failed and is allowed to.
    fn has_warned_before(&self, job: usize) -> bool {
        match &self.jobs[job].needs {
            Some(needs) => needs.has_warned(),
            None => self.stages.has_warned(),
        }
    }

    /// Skips the jobs of a stage that have not started and would start only as long as nothing fails.
    /// A job that is retried has started, and a job that the user played runs.
    fn drop_pending(&mut self, stage: usize) {
        for job in self.stages.jobs_of(stage) {
            let node = &self.jobs[job];
            let waits = matches!(
                node.status,
                Status::Pending | Status::WaitingForResource | Status::Scheduled
            );
            if waits && node.attempt == 1 && node.is_for_success() {
                self.set(job, Status::Skipped);
            }
        }
    }

    /// Returns the joint result of the jobs that a job waits for, once it is certain.
    pub(super) fn outcome_before(&self, job: usize) -> Option<Status> {
        let node = &self.jobs[job];
        match &node.needs {
            Some(needs) => needs.outcome(),
            None => self.stages.outcome_before(node.stage),
        }
    }

    /// Makes the skipped jobs behind `job` wait again: those that need it, directly or indirectly, and
    /// those of later stages.
    pub(super) fn revive_behind(&mut self, job: usize) {
        let later = self.stages.end_of(self.jobs[job].stage);
        let later: Vec<usize> = self.skipped.range(later..).copied().collect();
        self.revive(later);
        self.revive_behind_need(job);
    }

    fn revive_behind_need(&mut self, job: usize) {
        self.revive(self.dependents.of(job).to_vec());
    }

    fn revive(&mut self, mut behind: Vec<usize>) {
        while let Some(job) = behind.pop() {
            if self.jobs[job].status == Status::Skipped {
                self.set(job, Status::Created);
                self.undecided.push_back(job);
                behind.extend(self.dependents.of(job));
            }
        }
    }

    /// Does the same when an earlier run may have done a part of it.
    pub(super) fn finish_reviving(&mut self, job: usize) {
        self.revive_behind(job);
        let mut seen = BTreeSet::new();
        let mut waiting = self.dependents.of(job).to_vec();
        while let Some(job) = waiting.pop() {
            if self.jobs[job].status == Status::Created && seen.insert(job) {
                waiting.extend(self.dependents.of(job));
                self.revive_behind_need(job);
            }
        }
    }

    /// Changes a status and all counters that depend on it, and reports the change.
    pub(super) fn set(&mut self, job: usize, status: Status) {
        self.set_unreported(job, status);
        self.changes.push(StatusChange {
            job,
            status,
            attempt: self.jobs[job].attempt,
        });
    }

    /// Changes a status and all counters that depend on it.
    fn set_unreported(&mut self, job: usize, status: Status) {
        let node = &mut self.jobs[job];
        let weight = node.weight();
        let was = std::mem::replace(&mut node.status, status);
        let now = node.weight();
        let stage = node.stage;
        self.active -= usize::from(was.is_active());
        self.active += usize::from(status.is_active());
        if was == Status::Skipped {
            self.skipped.remove(&job);
        }
        if status == Status::Skipped {
            self.skipped.insert(job);
        }
        self.pipeline.change(weight, now);
        self.stages.change(stage, weight, now);
        self.count_in_dependents(job, weight.into(), now.into());
    }

    /// Changes the counters of the jobs that need `job`.
    fn count_in_dependents(&mut self, job: usize, was: Needed, now: Needed) {
        if was == now {
            return;
        }
        for &at in self.dependents.of(job) {
            let waiting = &mut self.jobs[at];
            let Some(needs) = &mut waiting.needs else {
                continue;
            };
            needs.change(was, now);
            if waiting.status == Status::Created && needs.outcome().is_some() {
                self.undecided.push_back(at);
            }
        }
    }
}
