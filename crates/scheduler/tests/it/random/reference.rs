//! GitLab's scheduling rules in their plainest form: after each event everything is recomputed.

use super::pipeline::SPECIAL_CODE;
use executor_core::job::When;
use pipeline::{Plan, PlannedJob};
use scheduler::Status;

/// A pipeline that stores only the statuses of its jobs.
#[derive(Debug, Clone)]
pub(super) struct Reference<'p> {
    jobs: &'p [PlannedJob],
    pub(super) statuses: Vec<Status>,
    pub(super) attempts: Vec<u32>,
    /// Whether that attempt has begun, or ended before it could begin.
    begun: Vec<bool>,
    /// Whether a job failed with an exit code it may fail with.
    forgiven: Vec<bool>,
}

/// How a job counts in a group: by its status, or as one of two special cases.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mark {
    Is(Status),
    /// Failed or canceled, and allowed to.
    Warning,
    /// Manual and optional.
    Optional,
}

impl<'p> Reference<'p> {
    pub(super) fn new(plan: &'p Plan) -> Self {
        let jobs = plan.jobs();
        let mut reference = Self {
            jobs,
            statuses: vec![Status::Created; jobs.len()],
            attempts: vec![1; jobs.len()],
            begun: vec![false; jobs.len()],
            forgiven: vec![false; jobs.len()],
        };
        reference.process();
        reference
    }

    pub(super) fn run(&mut self, job: usize) {
        assert_eq!(self.statuses[job], Status::Pending);
        self.statuses[job] = Status::Running;
        self.begun[job] = true;
        self.process();
    }

    pub(super) fn succeed(&mut self, job: usize) {
        self.begun[job] = true;
        self.statuses[job] = Status::Success;
        self.process();
    }

    pub(super) fn stop(&mut self, job: usize) {
        self.begun[job] = true;
        self.statuses[job] = Status::Canceled;
        self.process();
    }

    pub(super) fn fail(&mut self, job: usize, exit_code: i32) {
        let definition = &self.jobs[job].definition;
        let retry = definition.retry.as_ref();
        let retry = retry.filter(|retry| retry.exit_codes.is_none() || exit_code == SPECIAL_CODE);
        let retries = retry.and_then(|retry| retry.max).unwrap_or(0);
        if self.attempts[job] <= retries && self.statuses[job] != Status::Canceling {
            self.attempts[job] += 1;
            self.begun[job] = false;
            self.statuses[job] = self.ready(job);
        } else {
            self.begun[job] = true;
            let forgivable = definition.allow_failure_exit_codes.is_some();
            self.forgiven[job] = forgivable && exit_code == SPECIAL_CODE;
            self.statuses[job] = Status::Failed;
        }
        self.process();
    }

    pub(super) fn end_delay(&mut self, job: usize) {
        assert_eq!(self.statuses[job], Status::Scheduled);
        self.statuses[job] = self.ready(job);
        self.process();
    }

    pub(super) fn grant(&mut self, job: usize) {
        assert_eq!(self.statuses[job], Status::WaitingForResource);
        self.statuses[job] = Status::Pending;
        self.process();
    }

    /// Cancels one job.
    pub(super) fn cancel_job(&mut self, job: usize) {
        self.statuses[job] = match self.statuses[job] {
            Status::Running => Status::Canceling,
            status if status.is_final() || status == Status::Canceling => status,
            _ => Status::Canceled,
        };
        self.process();
    }

    fn ready(&self, job: usize) -> Status {
        match self.jobs[job].definition.resource_group {
            Some(_) => Status::WaitingForResource,
            None => Status::Pending,
        }
    }

    pub(super) fn play(&mut self, job: usize) {
        assert_eq!(self.statuses[job], Status::Manual);
        self.start_requested(job);
    }

    pub(super) fn retry(&mut self, job: usize) {
        assert!(self.statuses[job].is_retryable());
        if std::mem::take(&mut self.begun[job]) {
            self.attempts[job] += 1;
        }
        self.forgiven[job] = false;
        self.start_requested(job);
    }

    /// Starts a job that the user requested, and decides the skipped jobs behind it again.
    fn start_requested(&mut self, job: usize) {
        self.statuses[job] = self.ready(job);
        let mut behind = vec![false; self.jobs.len()];
        behind[job] = true;
        for _ in self.jobs {
            for (at, other) in self.jobs.iter().enumerate() {
                let mut needs = other.needs.iter().flatten();
                behind[at] |= needs.any(|&needed| behind[needed]);
            }
        }
        for (at, other) in self.jobs.iter().enumerate() {
            let is_later = other.stage_index > self.jobs[job].stage_index;
            if self.statuses[at] == Status::Skipped && (is_later || behind[at]) {
                self.statuses[at] = Status::Created;
            }
        }
        self.process();
    }

    pub(super) fn cancel(&mut self) {
        for status in &mut self.statuses {
            match *status {
                Status::Running => *status = Status::Canceling,
                Status::Created
                | Status::WaitingForResource
                | Status::Pending
                | Status::Manual
                | Status::Scheduled => *status = Status::Canceled,
                _ => {}
            }
        }
        self.process();
    }

    pub(super) fn stage(&self, stage: usize) -> Status {
        let jobs = (0..self.jobs.len()).filter(|&at| self.jobs[at].stage_index == stage);
        self.composite(jobs, false)
    }

    pub(super) fn pipeline(&self) -> Status {
        self.composite(0..self.jobs.len(), false)
    }

    /// Decides all jobs that can be decided, until no status changes.
    fn process(&mut self) {
        loop {
            let before = self.statuses.clone();
            for at in 0..self.jobs.len() {
                if self.statuses[at] == Status::Created {
                    self.statuses[at] = self.next(at);
                }
            }
            if self.statuses == before {
                return;
            }
        }
    }

    fn next(&self, at: usize) -> Status {
        use Status::{Canceled, Failed, Skipped, Success};
        let job = &self.jobs[at];
        let is_dag = job.needs.is_some();
        let earlier = |&other: &usize| self.jobs[other].stage_index < job.stage_index;
        let waits_for = match &job.needs {
            Some(needs) => needs.clone(),
            None => (0..self.jobs.len()).filter(earlier).collect(),
        };
        let previous = self.composite(waits_for.into_iter(), is_dag);
        if ![Success, Failed, Canceled, Skipped].contains(&previous) {
            return Status::Created;
        }
        let usual: &[Status] = if is_dag {
            &[Success]
        } else {
            &[Success, Skipped]
        };
        let wanted: &[Status] = match job.definition.when {
            When::OnSuccess | When::Manual | When::Delayed => usual,
            // A selected job needs no failure.
            When::OnFailure if job.is_played => &[Success, Failed, Skipped],
            When::OnFailure => &[Failed],
            When::Always => &[Success, Failed, Skipped],
            When::Never => &[],
        };
        match job.definition.when {
            _ if !wanted.contains(&previous) => Skipped,
            When::Delayed => Status::Scheduled,
            When::Manual if !job.is_played => Status::Manual,
            _ => self.ready(at),
        }
    }

    fn mark(&self, at: usize) -> Mark {
        let may_fail = self.jobs[at].definition.allow_failure;
        match self.statuses[at] {
            Status::Failed if may_fail || self.forgiven[at] => Mark::Warning,
            Status::Canceled if may_fail => Mark::Warning,
            Status::Manual if may_fail => Mark::Optional,
            status => Mark::Is(status),
        }
    }

    fn composite(&self, jobs: impl Iterator<Item = usize>, is_dag: bool) -> Status {
        use Mark::{Is, Optional, Warning};
        use Status::{
            Canceled, Canceling, Created, Failed, Manual, Pending, Running, Scheduled, Skipped,
            Success, WaitingForResource,
        };
        let marks: Vec<Mark> = jobs.map(|at| self.mark(at)).collect();
        let any = |mark: Mark| marks.contains(&mark);
        let only = |of: &[Mark]| marks.iter().all(|mark| of.contains(mark));
        if marks.is_empty() {
            Success
        } else if (is_dag && (any(Is(Skipped)) || any(Optional))) || only(&[Is(Skipped), Optional])
        {
            Skipped
        } else if only(&[Is(Success), Is(Skipped), Warning, Optional]) {
            Success
        } else if only(&[Is(Created), Warning, Optional]) {
            Created
        } else if only(&[Is(Canceled), Is(Success), Is(Skipped), Warning, Optional]) {
            Canceled
        } else if only(&[Is(Pending), Is(Created), Is(Skipped), Warning, Optional]) {
            Pending
        } else if any(Is(Running)) || any(Is(Pending)) {
            Running
        } else if any(Is(WaitingForResource)) {
            WaitingForResource
        } else if any(Is(Manual)) {
            Manual
        } else if any(Is(Scheduled)) {
            Scheduled
        } else if any(Is(Created)) {
            Running
        } else if any(Is(Canceling)) {
            Canceling
        } else {
            Failed
        }
    }
}
