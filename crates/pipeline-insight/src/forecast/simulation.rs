//! A simulation of the rest of a run, by the scheduler's own machine on virtual time.
//!
//! The longest path through the needs alone would not do: with fewer workers than ready jobs, with delays or with
//! resource groups it promises an end that the run cannot reach.

use super::course::Course;
use jiff::{SignedDuration, Timestamp};
use scheduler::{Finish, Machine, Status, StatusChange};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The state of a run, and what is expected of its jobs.
#[derive(Debug, Clone)]
pub(super) struct RunState {
    pub(super) machine: Machine,
    pub(super) course: Course,
    pub(super) jobs: Arc<[Expected]>,
    pub(super) workers: usize,
    /// When a job was last scheduled.
    pub(super) scheduled: HashMap<usize, Timestamp>,
    /// When the current attempt of a running job started.
    pub(super) attempts: HashMap<usize, Timestamp>,
}

/// What is expected of a job.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) time: Option<Duration>,
    pub(super) delay: Duration,
    pub(super) is_bridge: bool,
    /// The number of its resource group.
    pub(super) group: Option<usize>,
}

/// A run that continues as expected.
#[derive(Debug)]
pub(super) struct Simulation<'r> {
    run: &'r RunState,
    machine: Machine,
    course: Course,
    now: Timestamp,
    /// The number of idle workers.
    free: usize,
    /// Jobs that wait for a worker, in the plan's order.
    pending: BinaryHeap<Reverse<usize>>,
    /// The expected ends of jobs and delays, the earliest first.
    upcoming: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// Pending bridge jobs, which need no worker.
    bridges: VecDeque<usize>,
    groups: HashMap<usize, Group>,
    /// Groups in which a job may be able to start.
    to_check: Vec<usize>,
    /// Jobs that wait for a group without a name, which they get immediately.
    groupless: Vec<usize>,
    known: usize,
    unknown: Vec<usize>,
    late: Vec<usize>,
}

/// The job in a resource group and those waiting for it.
#[derive(Debug, Default)]
struct Group {
    holder: Option<usize>,
    waiting: VecDeque<usize>,
}

/// The result of a simulation.
#[derive(Debug)]
pub(super) struct Simulated {
    pub(super) course: Course,
    /// When the run ends.
    pub(super) end: Timestamp,
    /// When the first expected change happens, if there is one.
    pub(super) next: Option<Timestamp>,
    /// The number of simulated jobs whose duration is known.
    pub(super) known: usize,
    /// The simulated jobs whose duration is unknown.
    pub(super) unknown: Vec<usize>,
    pub(super) late: Vec<usize>,
}

impl<'r> Simulation<'r> {
    pub(super) fn new(run: &'r RunState, now: Timestamp) -> Self {
        Self {
            run,
            machine: run.machine.clone(),
            course: run.course.clone(),
            now,
            free: run.workers,
            pending: BinaryHeap::new(),
            upcoming: BinaryHeap::new(),
            bridges: VecDeque::new(),
            groups: HashMap::new(),
            to_check: Vec::new(),
            groupless: Vec::new(),
            known: 0,
            unknown: Vec::new(),
            late: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Simulated {
        self.course.begin(self.now);
        self.resume();
        let changes = self.machine.start();
        self.apply(&changes);
        self.give_groups();
        self.start();
        let next = self.upcoming.peek().map(|Reverse((at, _))| *at);
        let mut end = self.now;
        while let Some(&Reverse((at, _))) = self.upcoming.peek() {
            self.now = self.now.max(at);
            end = self.now;
            while let Some(&Reverse((same, job))) = self.upcoming.peek()
                && same == at
            {
                self.upcoming.pop();
                self.end(job);
            }
            self.give_groups();
            self.start();
        }
        self.unknown.sort_unstable();
        Simulated {
            course: self.course,
            end,
            next,
            known: self.known,
            unknown: self.unknown,
            late: self.late,
        }
    }

    fn expected(&self, job: usize) -> &'r Expected {
        &self.run.jobs[job]
    }

    /// Continues from the current statuses of the jobs.
    fn resume(&mut self) {
        for job in 0..self.run.jobs.len() {
            match self.machine.status(job) {
                Status::Running | Status::Canceling => self.resume_running(job),
                Status::Pending => {
                    self.hold_group(job);
                    self.enqueue(job);
                }
                Status::WaitingForResource => self.ask_for_group(job),
                Status::Scheduled => {
                    let since = self.run.scheduled.get(&job).copied();
                    let end = later(since.unwrap_or(self.now), self.expected(job).delay);
                    self.upcoming.push(Reverse((end.max(self.now), job)));
                }
                _ => {}
            }
        }
    }

    fn resume_running(&mut self, job: usize) {
        self.hold_group(job);
        if !self.expected(job).is_bridge {
            self.free = self.free.saturating_sub(1);
        }
        let begun = self.run.attempts.get(&job).copied();
        let time = self.count(job);
        let end = later(begun.unwrap_or(self.now), time.unwrap_or_default());
        if end < self.now && time.is_some() {
            self.late.push(job);
        }
        self.upcoming.push(Reverse((end.max(self.now), job)));
    }

    /// Counts a job as one with a known or an unknown duration; returns the duration.
    fn count(&mut self, job: usize) -> Option<Duration> {
        let time = self.expected(job).time;
        match time {
            Some(_) => self.known += 1,
            None => self.unknown.push(job),
        }
        time
    }

    /// Ends a running job, or the delay of a scheduled one.
    fn end(&mut self, job: usize) {
        let finish = match self.machine.status(job) {
            Status::Scheduled => {
                let changes = self.machine.delay_over(job);
                return self.apply(&changes);
            }
            Status::Canceling => Finish::Canceled,
            Status::Running => Finish::Success,
            _ => return,
        };
        if !self.expected(job).is_bridge {
            self.free += 1;
        }
        self.leave_group(job);
        let changes = self.machine.finished(job, finish);
        self.apply(&changes);
    }

    fn apply(&mut self, changes: &[StatusChange]) {
        for change in changes {
            self.course.set_status(change.job, change.status, self.now);
            match change.status {
                Status::Pending => self.enqueue(change.job),
                Status::WaitingForResource => self.ask_for_group(change.job),
                Status::Scheduled => {
                    let end = later(self.now, self.expected(change.job).delay);
                    self.upcoming.push(Reverse((end, change.job)));
                }
                _ => {}
            }
        }
    }

    fn enqueue(&mut self, job: usize) {
        if self.expected(job).is_bridge {
            self.bridges.push_back(job);
        } else {
            self.pending.push(Reverse(job));
        }
    }

    /// Starts the jobs that need no worker, and as many others as there are idle workers.
    fn start(&mut self) {
        while let Some(job) = self.bridges.pop_front() {
            self.begin(job);
        }
        while self.free > 0
            && let Some(Reverse(job)) = self.pending.pop()
        {
            if self.begin(job) {
                self.free -= 1;
            }
        }
    }

    /// Starts a job if it is still pending; it may have been canceled. Returns whether it started.
    fn begin(&mut self, job: usize) -> bool {
        if self.machine.status(job) != Status::Pending {
            return false;
        }
        let changes = self.machine.started(job);
        self.apply(&changes);
        let time = self.count(job).unwrap_or_default();
        self.upcoming.push(Reverse((later(self.now, time), job)));
        true
    }

    fn hold_group(&mut self, job: usize) {
        if let Some(group) = self.expected(job).group {
            self.groups.entry(group).or_default().holder = Some(job);
        }
    }

    fn ask_for_group(&mut self, job: usize) {
        match self.expected(job).group {
            Some(number) => {
                let group = self.groups.entry(number).or_default();
                group.waiting.push_back(job);
                self.to_check.push(number);
            }
            None => self.groupless.push(job),
        }
    }

    fn leave_group(&mut self, job: usize) {
        if let Some(number) = self.expected(job).group
            && let Some(group) = self.groups.get_mut(&number)
            && group.holder == Some(job)
        {
            group.holder = None;
            self.to_check.push(number);
        }
    }

    /// Gives free groups to the jobs that have waited longest.
    fn give_groups(&mut self) {
        loop {
            let granted = match self.groupless.pop() {
                Some(job) => Some(job),
                None => match self.to_check.pop() {
                    Some(number) => self.next_of_group(number),
                    None => return,
                },
            };
            if let Some(job) = granted {
                let changes = self.machine.resource_granted(job);
                self.apply(&changes);
            }
        }
    }

    fn next_of_group(&mut self, number: usize) -> Option<usize> {
        let group = self.groups.get_mut(&number)?;
        while group.holder.is_none()
            && let Some(job) = group.waiting.pop_front()
        {
            if self.machine.status(job) == Status::WaitingForResource {
                group.holder = Some(job);
                return Some(job);
            }
        }
        None
    }
}

/// Returns a later time, at most the maximum.
fn later(from: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    from.checked_add(by).unwrap_or(Timestamp::MAX)
}
