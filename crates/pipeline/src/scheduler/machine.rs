use super::retry;
use super::tally::{Tally, Weight};
use super::{Status, StatusChange};
use crate::plan::{Plan, PlannedJob};
use executor_core::job::{RetryDefinition, When};
use std::collections::VecDeque;

/// Decides which jobs of a pipeline may start, as a pure function of what happened.
///
/// Every input returns the status changes it led to, in order. An input costs the needs and stages
/// it touches, never the whole pipeline: counters at each job and stage say what their predecessors
/// came to.
#[derive(Debug, Clone)]
pub struct Machine {
    jobs: Vec<Node>,
    stages: Vec<Stage>,
    pipeline: Tally,
    /// How many jobs run or will without anybody's help.
    active: usize,
    /// Jobs whose predecessors changed so that they may be decided now.
    undecided: VecDeque<usize>,
    changes: Vec<StatusChange>,
    /// Whether the jobs of some stage began or ceased to be awaited since stages were opened.
    stages_changed: bool,
}

#[derive(Debug, Clone)]
struct Node {
    status: Status,
    attempt: u32,
    stage: usize,
    /// `None` for a job that waits for all earlier stages.
    needs: Option<Tally>,
    /// The jobs that need this one.
    needed_by: Vec<usize>,
    when: When,
    is_played: bool,
    allow_failure: bool,
    allowed_codes: Vec<i32>,
    retry: Option<RetryDefinition>,
    /// Whether its failure or cancellation counts as a warning; known when it ended.
    may_fail: bool,
}

#[derive(Debug, Clone, Default)]
struct Stage {
    tally: Tally,
    /// The jobs that wait for all earlier stages.
    jobs: Vec<usize>,
    /// What the earlier stages came to, once none of their jobs is awaited.
    before: Option<Status>,
}

/// How one attempt of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish<'a> {
    /// Well.
    Success,
    /// Not well.
    Failed {
        /// The script's exit code, when that is what failed.
        exit_code: Option<i32>,
        /// The reason, in GitLab's words.
        reason: Option<&'a str>,
    },
    /// Somebody stopped it.
    Canceled,
}

impl Machine {
    /// Returns the machine of a plan; nothing has begun.
    pub fn new(plan: &Plan) -> Self {
        let mut machine = Self {
            jobs: plan.jobs().iter().map(Node::new).collect(),
            stages: vec![Stage::default(); plan.stages().len()],
            pipeline: Tally::default(),
            active: 0,
            undecided: VecDeque::new(),
            changes: Vec::new(),
            stages_changed: true,
        };
        let created = Weight::Plain(Status::Created);
        for (index, job) in plan.jobs().iter().enumerate() {
            machine.pipeline.add(created);
            let stage = &mut machine.stages[job.stage_index];
            stage.tally.add(created);
            match &job.needs {
                None => stage.jobs.push(index),
                Some(needs) => {
                    for &needed in needs {
                        machine.jobs[needed].needed_by.push(index);
                    }
                }
            }
        }
        machine
    }

    /// Begins: the first jobs become pending.
    pub fn start(&mut self) -> Vec<StatusChange> {
        self.open_stages();
        let free = |node: &Node| node.needs.is_some_and(|needs| !needs.is_awaited());
        let jobs = self.jobs.iter().enumerate();
        let ready = jobs.filter(|(_, node)| free(node)).map(|(index, _)| index);
        self.undecided.extend(ready);
        self.undecided.make_contiguous().sort_unstable();
        self.settle()
    }

    /// Notes that a pending job runs.
    pub fn started(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status == Status::Pending {
            self.set(job, Status::Running);
        }
        self.settle()
    }

    /// Notes how an attempt ended; a job that may be tried again becomes pending.
    pub fn finished(&mut self, job: usize, finish: Finish<'_>) -> Vec<StatusChange> {
        let node = &mut self.jobs[job];
        if !matches!(
            node.status,
            Status::Pending | Status::Running | Status::Canceling
        ) {
            return Vec::new();
        }
        let is_canceling = node.status == Status::Canceling;
        match finish {
            Finish::Success => self.set(job, Status::Success),
            Finish::Canceled => self.set(job, Status::Canceled),
            Finish::Failed { exit_code, reason } => {
                let code_allowed = exit_code.is_some_and(|code| node.allowed_codes.contains(&code));
                node.may_fail = node.allow_failure || code_allowed;
                let retries = retry::allowed(node.retry.as_ref(), reason, exit_code);
                if node.attempt <= retries && !is_canceling {
                    node.attempt += 1;
                    node.may_fail = node.allow_failure;
                    self.set(job, Status::Pending);
                } else {
                    self.set(job, Status::Failed);
                }
            }
        }
        self.settle()
    }

    /// Starts a manual job, and gives those behind it that were skipped another chance.
    pub fn play(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status != Status::Manual {
            return Vec::new();
        }
        self.set(job, Status::Pending);
        self.revive_behind(job);
        self.settle()
    }

    /// Notes that the delay of a scheduled job has passed.
    pub fn delay_over(&mut self, job: usize) -> Vec<StatusChange> {
        if self.jobs[job].status == Status::Scheduled {
            self.set(job, Status::Pending);
        }
        self.settle()
    }

    /// Stops the pipeline: what runs is canceling, all that has not run is canceled.
    pub fn cancel(&mut self) -> Vec<StatusChange> {
        for job in 0..self.jobs.len() {
            match self.jobs[job].status {
                Status::Running => self.set(job, Status::Canceling),
                Status::Created
                | Status::WaitingForResource
                | Status::Pending
                | Status::Manual
                | Status::Scheduled => self.set(job, Status::Canceled),
                _ => {}
            }
        }
        // Nothing is left that could be decided.
        self.undecided.clear();
        std::mem::take(&mut self.changes)
    }

    /// Returns where a job stands.
    pub fn status(&self, job: usize) -> Status {
        self.jobs[job].status
    }

    /// Returns the attempt a job is at, from 1.
    pub fn attempt(&self, job: usize) -> u32 {
        self.jobs[job].attempt
    }

    /// Returns whether the failure of a job counts as a warning only.
    pub fn may_fail(&self, job: usize) -> bool {
        self.jobs[job].may_fail
    }

    /// Returns where a stage stands.
    pub fn stage_status(&self, stage: usize) -> Status {
        self.stages[stage].tally.status()
    }

    /// Returns where the pipeline stands.
    pub fn pipeline_status(&self) -> Status {
        self.pipeline.status()
    }

    /// Returns whether nothing will happen any more unless somebody plays a manual job.
    pub fn is_finished(&self) -> bool {
        self.active == 0
    }

    /// Decides all jobs that can be decided, until nothing changes.
    fn settle(&mut self) -> Vec<StatusChange> {
        loop {
            while let Some(job) = self.undecided.pop_front() {
                self.decide(job);
            }
            self.open_stages();
            if self.undecided.is_empty() {
                return std::mem::take(&mut self.changes);
            }
        }
    }

    /// Finds the stages whose earlier stages are all over, and has their jobs decided.
    fn open_stages(&mut self) {
        if !std::mem::take(&mut self.stages_changed) {
            return;
        }
        let mut before = Tally::default();
        for stage in &mut self.stages {
            if before.is_awaited() {
                stage.before = None;
                continue;
            }
            if stage.before.is_none() {
                stage.before = Some(before.status());
                self.undecided.extend(&stage.jobs);
            }
            before.add_all(&stage.tally);
        }
    }

    fn decide(&mut self, job: usize) {
        let node = &self.jobs[job];
        if node.status != Status::Created {
            return;
        }
        let (before, skipped_is_fine) = match &node.needs {
            Some(needs) if needs.has_absent() => (Status::Skipped, false),
            Some(needs) if needs.is_awaited() => return,
            Some(needs) if needs.has(Status::Failed) => (Status::Failed, false),
            Some(needs) if needs.has(Status::Canceled) => (Status::Canceled, false),
            Some(_) => (Status::Success, false),
            None => match self.stages[node.stage].before {
                Some(before) => (before, true),
                None => return,
            },
        };
        let proceeds = match node.when {
            When::OnSuccess | When::Manual | When::Delayed => {
                before == Status::Success || (skipped_is_fine && before == Status::Skipped)
            }
            // Somebody who asked for a job by name wants it to run, failure or not.
            When::OnFailure if !node.is_played => before == Status::Failed,
            When::Always | When::OnFailure => before != Status::Canceled,
            When::Never => false,
        };
        let status = match node.when {
            _ if !proceeds => Status::Skipped,
            When::Manual if !node.is_played => Status::Manual,
            When::Delayed => Status::Scheduled,
            _ => Status::Pending,
        };
        self.set(job, status);
    }

    /// Makes the skipped jobs behind `job` wait again: those that need it, however indirectly, and
    /// all of later stages.
    fn revive_behind(&mut self, job: usize) {
        let stage = self.jobs[job].stage;
        let later = (0..self.jobs.len()).filter(|&at| self.jobs[at].stage > stage);
        let mut open: Vec<usize> = later
            .chain(self.jobs[job].needed_by.iter().copied())
            .collect();
        while let Some(at) = open.pop() {
            if self.jobs[at].status == Status::Skipped {
                self.set(at, Status::Created);
                self.undecided.push_back(at);
                open.extend(&self.jobs[at].needed_by);
            }
        }
    }

    /// Changes a status and all counters that depend on it.
    fn set(&mut self, job: usize, status: Status) {
        let node = &mut self.jobs[job];
        let before = node.weight();
        self.active -= usize::from(node.status.is_active());
        node.status = status;
        self.active += usize::from(status.is_active());
        let attempt = node.attempt;
        let now = node.weight();
        let stage = node.stage;
        self.changes.push(StatusChange {
            job,
            status,
            attempt,
        });

        self.pipeline.remove(before);
        self.pipeline.add(now);
        let tally = &mut self.stages[stage].tally;
        let was_awaited = tally.is_awaited();
        tally.remove(before);
        tally.add(now);
        self.stages_changed |= was_awaited != tally.is_awaited();

        let needed_by = std::mem::take(&mut self.jobs[job].needed_by);
        for &at in &needed_by {
            let waiting = &mut self.jobs[at];
            let Some(needs) = &mut waiting.needs else {
                continue;
            };
            needs.remove(before);
            needs.add(now);
            if waiting.status == Status::Created && (needs.has_absent() || !needs.is_awaited()) {
                self.undecided.push_back(at);
            }
        }
        self.jobs[job].needed_by = needed_by;
    }
}

impl Node {
    fn new(job: &PlannedJob) -> Self {
        let definition = &job.definition;
        let needs = job.needs.as_ref().map(|needs| {
            let mut tally = Tally::default();
            for _ in needs {
                tally.add(Weight::Plain(Status::Created));
            }
            tally
        });
        Self {
            status: Status::Created,
            attempt: 1,
            stage: job.stage_index,
            needs,
            needed_by: Vec::new(),
            when: definition.when,
            is_played: job.is_played,
            allow_failure: definition.allow_failure,
            allowed_codes: definition
                .allow_failure_exit_codes
                .clone()
                .unwrap_or_default(),
            retry: definition.retry.clone(),
            may_fail: definition.allow_failure,
        }
    }

    fn weight(&self) -> Weight {
        Weight::of(self.status, self.may_fail)
    }
}
