use super::machine::{Finish, Machine};
use super::observer::LogObserver;
use super::record::Record;
use super::{Status, StatusChange};
use crate::config::parse_duration;
use crate::event::{EventKind, EventLog, JobNode};
use crate::plan::{LAST, Plan};
use crate::report::JobReport;
use crate::source::clamp;
use async_trait::async_trait;
use executor_core::{
    Cancellation, FailureReason, JobAssignment, JobId, JobOutcome, JobRequest, JobSource,
    JobSourceError, JobState, JobVariable, NextJob,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

/// The jobs of a running pipeline, as the source its workers take them from.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) plan: Arc<Plan>,
    events: Arc<EventLog>,
    /// Stops the pipeline; every job gets a child of it.
    pub(super) cancellation: Cancellation,
    state: Mutex<State>,
    /// One permit for each pending job, so that each wakes one worker; closed when none comes any
    /// more.
    ready: Semaphore,
    /// Tells of a delay that ends before all others.
    delayed: Notify,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) machine: Machine,
    /// Pending jobs. The first of the plan goes first: more may wait for a job of an early stage.
    pending: BinaryHeap<Reverse<usize>>,
    /// Scheduled jobs with the end of their delay, the earliest first.
    delays: BinaryHeap<Reverse<(Instant, usize)>>,
    pub(super) records: Vec<Record>,
    started_stages: Vec<bool>,
}

impl Queue {
    pub(super) fn new(plan: Arc<Plan>, events: Arc<EventLog>, cancellation: Cancellation) -> Self {
        let stages: Vec<Arc<str>> = plan
            .stages()
            .iter()
            .map(|stage| stage.as_str().into())
            .collect();
        let jobs = plan.jobs().iter();
        let records = jobs.map(|job| Record::new(job, &stages[job.stage_index]));
        let state = State {
            machine: Machine::new(&plan),
            pending: BinaryHeap::new(),
            delays: BinaryHeap::new(),
            records: records.collect(),
            started_stages: vec![false; stages.len()],
        };
        Self {
            plan,
            events,
            cancellation,
            state: Mutex::new(state),
            ready: Semaphore::new(0),
            delayed: Notify::new(),
        }
    }

    /// Returns how many jobs there are.
    pub(super) fn len(&self) -> u32 {
        clamp(self.plan.jobs().len())
    }

    /// Begins: the first jobs can be taken.
    pub(super) fn start(&self) {
        let mut state = self.lock();
        let jobs = state.records.iter().map(|record| Arc::clone(&record.name));
        self.events.emit(EventKind::PipelineStarted {
            jobs: jobs.collect(),
            graph: self.graph(&state.records),
            parent: None,
        });
        let changes = state.machine.start();
        self.apply(&mut state, &changes);
    }

    /// Returns what each job waits for.
    fn graph(&self, records: &[Record]) -> Vec<JobNode> {
        let name = |&job: &usize| Arc::clone(&records[job].name);
        let jobs = self.plan.jobs().iter().zip(records);
        let nodes = jobs.map(|(job, record)| JobNode {
            job: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            needs: job
                .needs
                .as_ref()
                .map(|needs| needs.iter().map(name).collect()),
        });
        nodes.collect()
    }

    /// Lets no further job start. Those that run have their own way to learn of it.
    pub(super) fn cancel(&self) {
        let mut state = self.lock();
        let changes = state.machine.cancel();
        state.pending.clear();
        state.delays.clear();
        self.apply(&mut state, &changes);
    }

    /// Waits until the [next delay](Self::next_delay) is another one.
    pub(super) async fn delay_changed(&self) {
        self.delayed.notified().await;
    }

    /// Returns when the next delay is over.
    pub(super) fn next_delay(&self) -> Option<Instant> {
        self.lock().next_delay()
    }

    /// Makes the jobs pending whose delay is over.
    pub(super) fn end_delays(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        while state.next_delay().is_some_and(|end| end <= now) {
            let Some(Reverse((_, job))) = state.delays.pop() else {
                break;
            };
            let changes = state.machine.delay_over(job);
            self.apply(&mut state, &changes);
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.lock().machine.is_finished()
    }

    /// Returns where the pipeline and each of its jobs stand.
    pub(super) fn report(&self) -> (Status, Vec<JobReport>) {
        let state = self.lock();
        let jobs = state.records.iter().enumerate();
        let reports = jobs.map(|(job, record)| record.report(job, &state.machine));
        (state.machine.pipeline_status(), reports.collect())
    }

    /// Takes note of changes: tells everybody and queues what became pending or scheduled.
    pub(super) fn apply(&self, state: &mut State, changes: &[StatusChange]) {
        let next_delay = state.next_delay();
        for change in changes {
            match change.status {
                Status::Pending => {
                    state.pending.push(Reverse(change.job));
                    self.ready.add_permits(1);
                }
                Status::Scheduled => {
                    let start_in = self.plan.jobs()[change.job].definition.start_in.as_deref();
                    let delay = start_in.and_then(parse_duration).unwrap_or_default();
                    // A time that no clock will reach never comes, and the job goes on waiting.
                    let end = Instant::now().checked_add(delay);
                    state
                        .delays
                        .extend(end.map(|end| Reverse((end, change.job))));
                }
                _ => {}
            }
            self.tell(state, change.job, change.status, change.attempt);
        }
        if state.next_delay() != next_delay {
            self.delayed.notify_one();
        }
        if state.machine.is_finished() {
            self.ready.close();
        }
    }

    fn tell(&self, state: &State, job: usize, status: Status, attempt: u32) {
        let record = &state.records[job];
        self.events.emit(EventKind::JobStatus {
            job: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status,
            attempt,
        });
    }

    /// Takes the next pending job, if there is one.
    fn take(&self) -> NextJob {
        let mut state = self.lock();
        if self.cancellation.is_canceled() || state.machine.is_finished() {
            return NextJob::Closed;
        }
        let Some(Reverse(job)) = state.pending.pop() else {
            return NextJob::None;
        };
        if state.machine.status(job) != Status::Pending {
            // It was canceled while it waited here.
            return NextJob::None;
        }
        let stage_index = self.plan.jobs()[job].stage_index;
        if !std::mem::replace(&mut state.started_stages[stage_index], true) {
            self.events.emit(EventKind::StageStart {
                stage: Arc::clone(&state.records[job].stage),
            });
        }
        let record = &mut state.records[job];
        let name = Arc::clone(&record.name);
        let observer = Arc::new(LogObserver::new(name, Arc::clone(&self.events)));
        let cancellation = self.cancellation.child();
        record.begin(Arc::clone(&observer), cancellation.clone());
        let played_with = record.variables.clone();
        let changes = state.machine.started(job);
        self.apply(&mut state, &changes);
        let attempt = state.machine.attempt(job);
        drop(state);
        let mut job = self.plan.payload(job);
        add_variables(&mut job.variables, played_with);
        NextJob::Job(Box::new(JobAssignment {
            job: Arc::new(job),
            attempt,
            observer,
            cancellation,
        }))
    }

    /// Returns whether no job will start any more.
    pub(super) fn is_closed(&self) -> bool {
        self.ready.is_closed()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl JobSource for Queue {
    async fn next(
        &self,
        _request: &JobRequest,
        cancellation: &Cancellation,
    ) -> Result<NextJob, JobSourceError> {
        loop {
            let ready = tokio::select! {
                ready = self.ready.acquire() => ready,
                () = cancellation.canceled() => return Ok(NextJob::Closed),
            };
            let Ok(permit) = ready else {
                return Ok(NextJob::Closed);
            };
            permit.forget();
            match self.take() {
                // The job was taken back: the pipeline has been stopped.
                NextJob::None => {}
                next => return Ok(next),
            }
        }
    }

    async fn finished(&self, job: JobId, outcome: JobOutcome) {
        let first = self.plan.context().first_job_id;
        let index = job
            .0
            .checked_sub(first)
            .and_then(|at| usize::try_from(at).ok());
        let mut state = self.lock();
        let Some(index) = index.filter(|&index| index < state.records.len()) else {
            tracing::warn!(%job, "A job ended that this pipeline does not have.");
            return;
        };
        let attempt = state.machine.attempt(index);
        let duration = state.records[index].end(&outcome);
        let changes = state.machine.finished(index, finish(&outcome));
        let is_own = |change: &&StatusChange| change.job == index && change.attempt == attempt;
        let own = usize::from(changes.first().as_ref().is_some_and(is_own));
        if own == 0 {
            // The machine goes straight to the next attempt; whoever watches sees this one end.
            self.tell(&state, index, status_of(outcome.state), attempt);
        }
        let record = &state.records[index];
        let finished = EventKind::JobFinished {
            job: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status: status_of(outcome.state),
            exit_code: outcome.exit_code().map(|code| code.0),
            failure_reason: outcome.failure_reason(),
            allow_failure: state.machine.may_fail(index),
            attempt,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            tests: outcome.products.tests.clone(),
            coverage: outcome.products.coverage,
        };
        // First the job's own end, then what it means for others or for its next attempt.
        self.apply(&mut state, &changes[..own]);
        self.events.emit(finished);
        self.apply(&mut state, &changes[own..]);
    }
}

impl State {
    fn next_delay(&self) -> Option<Instant> {
        self.delays.peek().map(|Reverse((end, _))| *end)
    }
}

/// Adds the variables that a job was started with by hand: they win over all others, except for
/// those that tell of its environment.
fn add_variables(variables: &mut Vec<JobVariable>, more: Vec<JobVariable>) {
    for variable in more {
        let known = variables.iter_mut().find(|known| known.key == variable.key);
        match known {
            Some(_) if LAST.contains(&variable.key.as_str()) => {}
            Some(known) => *known = variable,
            None => variables.push(variable),
        }
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
