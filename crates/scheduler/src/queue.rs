use super::group_waits::GroupWaits;
use super::hold::Holds;
use super::machine::Machine;
use super::observer::LogObserver;
use super::progress::RunProgress;
use super::record::Record;
use super::resources::ResourceGroups;
use super::{Status, StatusChange};
use crate::event::{EventKind, EventLog, JobNode, ParentJob};
use crate::report::JobReport;
use executor_core::{
    CancelCause, Cancellation, JobAssignment, JobObserver, JobVariable, TraceStream,
};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use pipeline::config::parse_duration;
use pipeline::plan::{LAST, Plan};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

/// The jobs of a running pipeline: those that workers take, and those that start other pipelines.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) plan: Arc<Plan>,
    pub(super) events: Arc<EventLog>,
    /// Stops the pipeline; every job gets a child of it.
    pub(super) cancellation: Cancellation,
    state: Mutex<State>,
    /// Gets a permit for each job that a worker may take.
    ready: Arc<Semaphore>,
    /// Tells who attends to it of all that is not for workers: a delay that ends before all others,
    /// a job that starts another pipeline, the end.
    changed: Notify,
    /// Who keeps the pipeline open although all has ended.
    holds: Arc<Holds>,
    /// Nothing will happen any more, whoever asks for it.
    is_closed: AtomicBool,
    /// Itself, for what waits in the background.
    pub(super) this: Weak<Self>,
}

/// A job that is about to start another pipeline.
#[derive(Debug)]
pub(super) struct PendingBridge {
    /// Its place in the plan.
    pub(super) index: usize,
    /// The job.
    pub(super) assignment: JobAssignment,
    /// The variables from reports of the jobs whose artifacts it fetches.
    pub(super) dotenv: Vec<JobVariable>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) machine: Machine,
    /// Pending jobs. The first of the plan goes first: more may wait for a job of an early stage.
    pending: BinaryHeap<Reverse<usize>>,
    /// Pending jobs that start other pipelines, for which there need be no worker.
    bridges: VecDeque<usize>,
    /// Scheduled jobs with the end of their delay, the earliest first.
    delays: BinaryHeap<Reverse<(Instant, usize)>>,
    pub(super) records: Vec<Record>,
    started_stages: Vec<bool>,
    pub(super) groups: GroupWaits,
    /// When all had ended, if that was before somebody stopped the pipeline.
    ended: Option<Instant>,
}

impl Queue {
    /// Returns the queue of a plan of which so much has happened.
    pub(super) fn new(
        plan: Arc<Plan>,
        events: Arc<EventLog>,
        ready: Arc<Semaphore>,
        cancellation: Cancellation,
        progress: &RunProgress,
        resources: &Arc<dyn ResourceGroups>,
        holds: &Arc<Holds>,
    ) -> Arc<Self> {
        let stages: Vec<Arc<str>> = plan
            .stages()
            .iter()
            .map(|stage| stage.as_str().into())
            .collect();
        let jobs = plan.jobs().iter();
        let records = jobs.map(|job| {
            let mut record = Record::new(job, &stages[job.stage_index]);
            record.recall(progress);
            record
        });
        let state = State {
            machine: Machine::restore(&plan, progress),
            pending: BinaryHeap::new(),
            bridges: VecDeque::new(),
            delays: BinaryHeap::new(),
            records: records.collect(),
            started_stages: vec![false; stages.len()],
            groups: GroupWaits::new(&plan, resources),
            ended: None,
        };
        Arc::new_cyclic(|this| Self {
            plan,
            events,
            cancellation,
            state: Mutex::new(state),
            ready,
            changed: Notify::new(),
            holds: Arc::clone(holds),
            is_closed: AtomicBool::new(false),
            this: Weak::clone(this),
        })
    }

    /// Begins: the first jobs can be taken. `parent` is the job that started the pipeline.
    pub(super) fn start(&self, parent: Option<ParentJob>) {
        let mut state = self.lock();
        let jobs = state.records.iter().map(|record| Arc::clone(&record.name));
        self.events.emit(EventKind::PipelineStarted {
            jobs: jobs.collect(),
            graph: self.graph(&state.records),
            parent,
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
        state.bridges.clear();
        state.delays.clear();
        self.apply(&mut state, &changes);
    }

    /// Waits until something happened that no worker attends to.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Lets whoever waits for that look again.
    pub(super) fn wake(&self) {
        self.changed.notify_one();
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

    /// Returns whether nothing will happen any more unless somebody asks for it.
    pub(super) fn is_finished(&self) -> bool {
        self.lock().machine.is_finished()
    }

    /// Returns when all had ended, if that was before somebody stopped the pipeline.
    pub(super) fn ended(&self) -> Option<Instant> {
        self.lock().ended
    }

    /// Ends the pipeline if all has ended and nobody holds it open, whom `heeds_holds` says to ask: from
    /// then on nobody is listened to.
    pub(super) fn close(&self, heeds_holds: bool) -> bool {
        // Under the lock, so that a wish comes either before or too late.
        let state = self.lock();
        let closes = state.machine.is_finished() && !(heeds_holds && self.holds.are_some());
        if closes {
            self.is_closed.store(true, Ordering::Release);
        }
        closes
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
            state.groups.note(change.job, change.status);
            match change.status {
                Status::Pending if self.plan.jobs()[change.job].is_bridge() => {
                    state.bridges.push_back(change.job);
                    self.changed.notify_one();
                }
                Status::Pending => {
                    state.pending.push(Reverse(change.job));
                    self.ready.add_permits(1);
                }
                Status::Scheduled => {
                    let end = self.end_of_delay(state, change.job);
                    state
                        .delays
                        .extend(end.map(|end| Reverse((end, change.job))));
                }
                Status::WaitingForResource => self.ask_for_group(state, change.job),
                // Told to stop by what became of another job; whoever meant this one said so first,
                // and who stops the pipeline tells all jobs that run why.
                Status::Canceling if !self.cancellation.is_canceled() => {
                    state.records[change.job].stop(CancelCause::SiblingFailure);
                }
                Status::Canceled | Status::Skipped => state.records[change.job].release(),
                _ => {}
            }
            self.tell(state, change.job, change.status, change.attempt);
        }
        if state.next_delay() != next_delay {
            self.changed.notify_one();
        }
        if !state.machine.is_finished() {
            state.ended = None;
            return;
        }
        if !self.cancellation.is_canceled() {
            state.ended.get_or_insert_with(Instant::now);
        }
        self.changed.notify_one();
    }

    /// Returns when the delay of a job is over; a time that no clock will reach never comes, and the
    /// job goes on waiting.
    fn end_of_delay(&self, state: &mut State, job: usize) -> Option<Instant> {
        let start_in = self.plan.jobs()[job].definition.start_in.as_deref();
        let delay = start_in.and_then(parse_duration).unwrap_or_default();
        // What of it passed before an earlier run ended is not waited for again.
        let since = state.records[job].since.take();
        let passed = since.map(|since| Timestamp::now().duration_since(since));
        let passed = passed.and_then(|passed| Duration::try_from(passed).ok());
        Instant::now().checked_add(delay.saturating_sub(passed.unwrap_or_default()))
    }

    pub(super) fn tell(&self, state: &State, job: usize, status: Status, attempt: u32) {
        let record = &state.records[job];
        self.events.emit(EventKind::JobStatus {
            job: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status,
            attempt,
        });
    }

    /// Takes the next pending job, if there is one.
    pub(super) fn take(&self) -> Option<Box<JobAssignment>> {
        let mut state = self.lock();
        loop {
            let Reverse(job) = state.pending.pop()?;
            if let Some(assignment) = self.begin(&mut state, job) {
                return Some(Box::new(assignment));
            }
        }
    }

    /// Takes the next job that starts another pipeline, if there is one.
    pub(super) fn take_bridge(&self) -> Option<PendingBridge> {
        let mut state = self.lock();
        loop {
            let index = state.bridges.pop_front()?;
            if let Some(assignment) = self.begin(&mut state, index) {
                return Some(PendingBridge {
                    index,
                    assignment,
                    dotenv: self.reported_variables(&state, index),
                });
            }
        }
    }

    /// Begins an attempt of a pending job; there is none if it was canceled while it waited.
    fn begin(&self, state: &mut State, job: usize) -> Option<JobAssignment> {
        if self.cancellation.is_canceled() || state.machine.status(job) != Status::Pending {
            return None;
        }
        let stage_index = self.plan.jobs()[job].stage_index;
        if !std::mem::replace(&mut state.started_stages[stage_index], true) {
            self.events.emit(EventKind::StageStart {
                stage: Arc::clone(&state.records[job].stage),
            });
        }
        let record = &mut state.records[job];
        let name = Arc::clone(&record.name);
        let coverage = self.plan.jobs()[job].definition.coverage.as_deref();
        let events = Arc::clone(&self.events);
        let observer = Arc::new(LogObserver::new(name, events, coverage));
        let cancellation = self.cancellation.child();
        let again = record.why_again();
        record.begin(Arc::clone(&observer), cancellation.clone());
        let played_with = record.variables.clone();
        let changes = state.machine.started(job);
        self.apply(state, &changes);
        let attempt = state.machine.attempt(job);
        if let Some(why) = again {
            let line = format!("WARNING: Trying again, attempt {attempt}: {why}\n");
            observer.output(TraceStream::SYSTEM_WARNING, line.as_bytes());
        }
        let reported = self.reported_variables(state, job);
        let mut job = self.plan.payload_with(job, &reported);
        add_variables(&mut job.variables, played_with);
        Some(JobAssignment {
            job: Arc::new(job),
            attempt,
            observer,
            cancellation,
        })
    }

    /// Returns the variables that the dotenv reports of the jobs say whose artifacts a job fetches,
    /// in the order of the plan: a later one wins.
    fn reported_variables(&self, state: &State, job: usize) -> Vec<JobVariable> {
        let mut fetched = self.plan.dependencies(job);
        fetched.sort_unstable();
        let products = fetched
            .into_iter()
            .filter_map(|earlier| state.records[earlier].products());
        products
            .flat_map(|products| products.dotenv.iter().cloned())
            .collect()
    }

    /// Returns whether no job will start any more.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
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
