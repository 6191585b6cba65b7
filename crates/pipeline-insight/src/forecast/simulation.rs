//! The rest of a run, played ahead.

use super::course::Course;
use super::prediction::{Expected, Forecast};
use jiff::{SignedDuration, Timestamp};
use scheduler::{Finish, Machine, Status, StatusChange};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

/// A run that goes on as it is expected to.
#[derive(Debug)]
pub(super) struct Simulation<'f> {
    forecast: &'f Forecast,
    machine: Machine,
    course: Course,
    now: Timestamp,
    /// Workers that have nothing to do.
    free: usize,
    /// Jobs that wait for a worker; the first of the plan goes first.
    pending: BinaryHeap<Reverse<usize>>,
    /// What is going to happen, the earliest first.
    coming: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// Jobs that start other pipelines need none.
    bridges: VecDeque<usize>,
    groups: HashMap<usize, Group>,
    /// Groups that somebody has left or asked for.
    open: Vec<usize>,
    /// Jobs that ask for a group without a name, which is none.
    groupless: Vec<usize>,
    known: usize,
    unknown: Vec<usize>,
    late: Vec<usize>,
}

/// The jobs in a resource group and before it.
#[derive(Debug, Default)]
struct Group {
    holder: Option<usize>,
    waiting: VecDeque<usize>,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) course: Course,
    /// When all was over.
    pub(super) end: Timestamp,
    /// When the first thing happened, if one did.
    pub(super) next: Option<Timestamp>,
    /// How many of the jobs that ran are such whose time is known.
    pub(super) known: usize,
    /// The others.
    pub(super) unknown: Vec<usize>,
    pub(super) late: Vec<usize>,
}

impl<'f> Simulation<'f> {
    pub(super) fn new(forecast: &'f Forecast, now: Timestamp) -> Self {
        Self {
            forecast,
            machine: forecast.machine.clone(),
            course: forecast.course.clone(),
            now,
            free: forecast.workers,
            pending: BinaryHeap::new(),
            coming: BinaryHeap::new(),
            bridges: VecDeque::new(),
            groups: HashMap::new(),
            open: Vec::new(),
            groupless: Vec::new(),
            known: 0,
            unknown: Vec::new(),
            late: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Played {
        self.course.begin(self.now);
        self.take_over();
        let changes = self.machine.start();
        self.apply(&changes);
        self.give_groups();
        self.start();
        let next = self.coming.peek().map(|Reverse((at, _))| *at);
        let mut end = self.now;
        while let Some(&Reverse((at, _))) = self.coming.peek() {
            self.now = self.now.max(at);
            end = self.now;
            while let Some(&Reverse((same, job))) = self.coming.peek()
                && same == at
            {
                self.coming.pop();
                self.happen(job);
            }
            self.give_groups();
            self.start();
        }
        self.unknown.sort_unstable();
        Played {
            course: self.course,
            end,
            next,
            known: self.known,
            unknown: self.unknown,
            late: self.late,
        }
    }

    fn expected(&self, job: usize) -> &'f Expected {
        &self.forecast.jobs[job]
    }

    /// Goes on where the jobs stand.
    fn take_over(&mut self) {
        for job in 0..self.forecast.jobs.len() {
            match self.machine.status(job) {
                Status::Running | Status::Canceling => self.take_over_running(job),
                Status::Pending => {
                    self.hold_group(job);
                    self.come_to_pending(job);
                }
                Status::WaitingForResource => self.ask_for_group(job),
                Status::Scheduled => {
                    let since = self.forecast.scheduled.get(&job).copied();
                    let end = later(since.unwrap_or(self.now), self.expected(job).delay);
                    self.coming.push(Reverse((end.max(self.now), job)));
                }
                _ => {}
            }
        }
    }

    fn take_over_running(&mut self, job: usize) {
        self.hold_group(job);
        if !self.expected(job).is_bridge {
            self.free = self.free.saturating_sub(1);
        }
        let begun = self.forecast.attempts.get(&job).copied();
        let time = self.count(job);
        let end = later(begun.unwrap_or(self.now), time.unwrap_or_default());
        if end < self.now && time.is_some() {
            self.late.push(job);
        }
        self.coming.push(Reverse((end.max(self.now), job)));
    }

    /// Counts a job among those whose time is known or among the others, and returns its time.
    fn count(&mut self, job: usize) -> Option<Duration> {
        let time = self.expected(job).time;
        match time {
            Some(_) => self.known += 1,
            None => self.unknown.push(job),
        }
        time
    }

    /// A job that runs ends, or the delay of one that is scheduled.
    fn happen(&mut self, job: usize) {
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
            self.course.come_to(change.job, change.status, self.now);
            match change.status {
                Status::Pending => self.come_to_pending(change.job),
                Status::WaitingForResource => self.ask_for_group(change.job),
                Status::Scheduled => {
                    let end = later(self.now, self.expected(change.job).delay);
                    self.coming.push(Reverse((end, change.job)));
                }
                _ => {}
            }
        }
    }

    fn come_to_pending(&mut self, job: usize) {
        if self.expected(job).is_bridge {
            self.bridges.push_back(job);
        } else {
            self.pending.push(Reverse(job));
        }
    }

    /// Starts the jobs that need no worker, and as many others as there are workers for.
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

    /// Begins a pending job; one that was canceled while it waited does not.
    fn begin(&mut self, job: usize) -> bool {
        if self.machine.status(job) != Status::Pending {
            return false;
        }
        let changes = self.machine.started(job);
        self.apply(&changes);
        let time = self.count(job).unwrap_or_default();
        self.coming.push(Reverse((later(self.now, time), job)));
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
                self.open.push(number);
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
            self.open.push(number);
        }
    }

    /// Gives the groups that nobody is in to those that have waited longest.
    fn give_groups(&mut self) {
        loop {
            let granted = match self.groupless.pop() {
                Some(job) => Some(job),
                None => match self.open.pop() {
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

/// Returns a moment after another one; the last there is, if need be.
fn later(from: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    from.checked_add(by).unwrap_or(Timestamp::MAX)
}
