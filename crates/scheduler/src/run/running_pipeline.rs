mod control_requests;

use super::bridge::OpenBridge;
use super::controls::Controls;
use super::downstream::{Downstream, DownstreamPipeline};
use super::progress::{DecidingJobs, RunProgress};
use super::record::Record;
use super::worker_link::Attempt;
use crate::event::{EventKind, EventLog, EventSink, JobNode, ParentJob};
use crate::job_log::LogObserver;
use crate::report::{ChildReport, JobReport, PipelineReport, RunExit, exit_of};
use crate::resource_groups::{
    PipelineGroups, ResourceError, ResourceGroups, ResourceLease, ResourceRequest,
};
use crate::state_machine::{Finish, Machine};
use crate::{Status, StatusChange};
use executor_core::{
    BuildError, CancelCause, Cancellation, FailureReason, JobObserver, JobOutcome, JobRunner,
    JobState, JobVariable, TraceStream, WorkerError,
};
use jiff::{Timestamp, Unit};
use pipeline::config::parse_duration;
use pipeline::plan::Plan;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The parts of a pipeline that is about to begin.
#[derive(Debug)]
pub(super) struct PipelineOptions {
    pub(super) plan: Arc<Plan>,
    /// The job that starts the pipeline.
    pub(super) parent: Option<ParentJob>,
    pub(super) runner: Arc<dyn JobRunner>,
    pub(super) sink: Arc<dyn EventSink>,
    pub(super) controls: Controls,
    pub(super) progress: Arc<RunProgress>,
    pub(super) downstream: Option<Arc<dyn Downstream>>,
    /// The time limit.
    pub(super) timeout: Option<Duration>,
}

/// A pipeline that runs: its state machine, its jobs, and the work that its jobs lead to.
///
/// Every method is synchronous. Work that takes time is queued in the fields `pending`, `bridges` and
/// `group_requests`, and the owner task takes it from there.
#[derive(Debug)]
pub(super) struct RunningPipeline {
    plan: Arc<Plan>,
    events: Arc<EventLog>,
    pub(super) runner: Arc<dyn JobRunner>,
    pub(super) downstream: Option<Arc<dyn Downstream>>,
    pub(super) controls: Controls,
    sink: Arc<dyn EventSink>,
    /// Stops the pipeline; every job gets a child of it.
    pub(super) stop: Cancellation,
    /// The bridge that started the pipeline.
    pub(super) bridge: Option<Box<OpenBridge>>,

    machine: Machine,
    records: Vec<Record>,
    groups: PipelineGroups,
    started_stages: Vec<bool>,

    /// Pending jobs for workers. The first of the plan starts first: more jobs may wait for a job of
    /// an early stage.
    pending: BinaryHeap<Reverse<usize>>,
    /// Pending bridges, which need no worker.
    bridges: VecDeque<usize>,
    /// Jobs that have begun to wait for their resource group.
    group_requests: VecDeque<usize>,
    /// Scheduled jobs with the end of their delay, the earliest first.
    delays: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Whether a bridge was canceled whose pipeline may run.
    has_canceled_bridge: bool,

    /// The jobs that decide the exit code.
    deciding: DecidingJobs,
    begun: Instant,
    deadline: Option<Instant>,
    /// How many bridges are open: those of which a pipeline is being created or runs.
    open_bridges: usize,
    children: Vec<ChildReport>,
    /// When all jobs had ended; `None` if a stop ended them.
    ended: Option<Instant>,
    /// When the last downstream pipeline ended; `None` if a stop ended it.
    last_child: Option<Instant>,
    pub(super) is_stopped: bool,
    pub(super) is_deserted: bool,
}

/// A job's wait for its resource group.
#[derive(Debug)]
pub(super) struct GroupWait {
    pub(super) index: usize,
    /// `None` for a group whose name expands to nothing, which is no group.
    pub(super) request: Option<ResourceRequest>,
    pub(super) cancellation: Cancellation,
}

impl PipelineOptions {
    /// Returns the parts of a downstream pipeline, which takes what it leaves open from `parent`.
    pub(super) fn downstream(created: DownstreamPipeline, parent: &RunningPipeline) -> Self {
        Self {
            plan: created.plan,
            parent: Some(created.parent),
            runner: created.runner.unwrap_or_else(|| Arc::clone(&parent.runner)),
            sink: created.sink.unwrap_or_else(|| Arc::clone(&parent.sink)),
            controls: created.controls,
            progress: created.progress,
            downstream: created.downstream,
            timeout: None,
        }
    }
}

impl RunningPipeline {
    /// Begins a pipeline: its first jobs are pending.
    pub(super) fn begin(
        options: PipelineOptions,
        bridge: Option<Box<OpenBridge>>,
        stop: Cancellation,
        resources: &Arc<dyn ResourceGroups>,
    ) -> Self {
        let PipelineOptions { plan, progress, .. } = options;
        let begun = Instant::now();
        let stages = plan.stages().iter();
        let stages: Vec<Arc<str>> = stages.map(|stage| stage.as_str().into()).collect();
        let jobs = plan.jobs().iter();
        let records = jobs.map(|job| {
            let mut record = Record::new(job, &stages[job.stage_index]);
            record.restore(&progress);
            record
        });
        let mut pipeline = Self {
            events: Arc::new(EventLog::new(plan.id(), Arc::clone(&options.sink))),
            runner: options.runner,
            downstream: options.downstream,
            controls: options.controls,
            sink: options.sink,
            stop,
            bridge,
            machine: Machine::restore(&plan, &progress),
            records: records.collect(),
            groups: PipelineGroups::new(&plan, resources),
            started_stages: vec![false; stages.len()],
            pending: BinaryHeap::new(),
            bridges: VecDeque::new(),
            group_requests: VecDeque::new(),
            delays: BinaryHeap::new(),
            has_canceled_bridge: false,
            deciding: progress.deciding,
            begun,
            // A time that no clock reaches is no limit.
            deadline: options.timeout.and_then(|limit| begun.checked_add(limit)),
            open_bridges: 0,
            children: Vec::new(),
            ended: None,
            last_child: Some(begun),
            is_stopped: false,
            is_deserted: false,
            plan,
        };
        let names = pipeline
            .records
            .iter()
            .map(|record| Arc::clone(&record.name));
        pipeline.events.emit(EventKind::PipelineStarted {
            jobs: names.collect(),
            graph: pipeline.graph(),
            parent: options.parent,
        });
        let changes = pipeline.machine.start();
        pipeline.apply(&changes);
        pipeline
    }

    /// Returns what each job waits for.
    fn graph(&self) -> Vec<JobNode> {
        let name = |&job: &usize| Arc::clone(&self.records[job].name);
        let jobs = self.plan.jobs().iter().zip(&self.records);
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

    /// Reports status changes, and queues the jobs that can proceed.
    fn apply(&mut self, changes: &[StatusChange]) {
        for change in changes {
            let StatusChange { job, status, .. } = *change;
            self.groups.note(job, status);
            let mut until = None;
            match status {
                Status::Pending if self.plan.jobs()[job].is_bridge() => self.bridges.push_back(job),
                Status::Pending => self.pending.push(Reverse(job)),
                Status::Scheduled => {
                    let delay = self.rest_of_delay(job);
                    // A time that no clock reaches does not come.
                    let end = Instant::now().checked_add(delay);
                    self.delays.extend(end.map(|end| Reverse((end, job))));
                    until = Timestamp::now().checked_add(delay).ok();
                }
                Status::WaitingForResource => self.group_requests.push_back(job),
                Status::Canceling => {
                    self.has_canceled_bridge |= self.plan.jobs()[job].is_bridge();
                    // A request to cancel this job or the pipeline has set its cause before.
                    if !self.stop.is_canceled() {
                        self.records[job].cancel(CancelCause::SiblingFailure);
                    }
                }
                Status::Canceled | Status::Skipped => self.records[job].release(),
                _ => {}
            }
            self.emit_status(job, status, change.attempt, until);
        }
        if !self.machine.is_finished() {
            self.ended = None;
        } else if !self.stop.is_canceled() {
            self.ended.get_or_insert_with(Instant::now);
        }
    }

    /// Returns how long the delay of a job still lasts.
    fn rest_of_delay(&mut self, job: usize) -> Duration {
        let start_in = self.plan.jobs()[job].definition.start_in.as_deref();
        let delay = start_in.and_then(parse_duration).unwrap_or_default();
        // The part that passed in an earlier run counts.
        let since = self.records[job].since.take();
        let passed = since.map(|since| Timestamp::now().duration_since(since));
        let passed = passed.and_then(|passed| Duration::try_from(passed).ok());
        delay.saturating_sub(passed.unwrap_or_default())
    }

    fn emit_status(&self, job: usize, status: Status, attempt: u32, until: Option<Timestamp>) {
        let record = &self.records[job];
        self.events.emit(EventKind::JobStatus {
            job: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status,
            attempt,
            until: until.and_then(|until| until.round(Unit::Millisecond).ok()),
        });
    }

    /// Returns whether a worker may find a pending job.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Begins the next pending job for a worker, if there is one.
    pub(super) fn take(&mut self) -> Option<Attempt> {
        loop {
            let Reverse(job) = self.pending.pop()?;
            if let Some(attempt) = self.begin_attempt(job) {
                return Some(attempt);
            }
        }
    }

    /// Begins the next pending bridge, if there is one. It is open until
    /// [`close_bridge`](Self::close_bridge).
    pub(super) fn take_bridge(&mut self) -> Option<Attempt> {
        loop {
            let job = self.bridges.pop_front()?;
            if let Some(attempt) = self.begin_attempt(job) {
                self.open_bridges += 1;
                return Some(attempt);
            }
        }
    }

    /// Begins an attempt of a pending job; `None` if the job was canceled while it waited.
    fn begin_attempt(&mut self, job: usize) -> Option<Attempt> {
        if self.stop.is_canceled() || self.machine.status(job) != Status::Pending {
            return None;
        }
        let planned = &self.plan.jobs()[job];
        if !std::mem::replace(&mut self.started_stages[planned.stage_index], true) {
            self.events.emit(EventKind::StageStart {
                stage: Arc::clone(&self.records[job].stage),
            });
        }
        let record = &mut self.records[job];
        let observer = Arc::new(LogObserver::new(
            Arc::clone(&record.name),
            Arc::clone(&self.events),
            planned.definition.coverage.as_deref(),
        ));
        let cancellation = self.stop.child();
        let retry_reason = record.retry_reason();
        record.begin(Arc::clone(&observer), cancellation.clone());
        let played_with = record.variables.clone();
        let changes = self.machine.started(job);
        self.apply(&changes);
        let number = self.machine.attempt(job);
        if let Some(reason) = retry_reason {
            let line = format!("WARNING: Trying again, attempt {number}: {reason}\n");
            observer.output(TraceStream::SYSTEM_WARNING, line.as_bytes());
        }
        Some(Attempt {
            plan: Arc::clone(&self.plan),
            index: job,
            number,
            reported: self.reported_variables(job),
            played_with,
            observer,
            cancellation,
        })
    }

    /// Returns the variables from the dotenv reports of the jobs whose artifacts a job fetches, in the
    /// order of the plan: a later one overrides.
    fn reported_variables(&self, job: usize) -> Vec<JobVariable> {
        let mut fetched = self.plan.dependencies(job);
        fetched.sort_unstable();
        let products = fetched
            .into_iter()
            .filter_map(|earlier| self.records[earlier].products());
        products
            .flat_map(|products| products.dotenv.iter().cloned())
            .collect()
    }

    /// Returns the next job that has begun to wait for its resource group.
    pub(super) fn take_group_wait(&mut self) -> Option<GroupWait> {
        let index = loop {
            let index = self.group_requests.pop_front()?;
            // A job that was canceled in the meantime does not wait.
            if self.machine.status(index) == Status::WaitingForResource {
                break index;
            }
        };
        let request = self.groups.group_of(index).map(|group| ResourceRequest {
            group: group.to_owned(),
            pipeline: self.plan.id(),
            job: self.plan.jobs()[index].id,
        });
        let cancellation = self.stop.child();
        self.records[index].waiting = Some(cancellation.clone());
        Some(GroupWait {
            index,
            request,
            cancellation,
        })
    }

    /// Takes the end of a job's wait for its resource group.
    pub(super) fn group_leased(
        &mut self,
        job: usize,
        lease: Result<Option<ResourceLease>, ResourceError>,
    ) {
        match lease {
            Ok(Some(lease)) => {
                if self.machine.status(job) == Status::WaitingForResource {
                    self.records[job].lease = Some(lease);
                    let changes = self.machine.resource_granted(job);
                    self.apply(&changes);
                }
            }
            // The job was canceled, and that has been reported.
            Ok(None) => {}
            Err(error) => {
                let message = error.to_string();
                let error = BuildError::system("resource group", message, error);
                self.end_attempt(job, &JobOutcome::from_error(error));
            }
        }
    }

    /// Ends an attempt of a job.
    pub(super) fn end_attempt(&mut self, job: usize, outcome: &JobOutcome) {
        let attempt = self.machine.attempt(job);
        let duration = self.records[job].end(outcome);
        let changes = self.machine.finished(job, finish_of(outcome));
        let is_own = |change: &&StatusChange| change.job == job && change.attempt == attempt;
        let own = usize::from(changes.first().as_ref().is_some_and(is_own));
        if own == 0 {
            // The machine goes straight to the next attempt, and the events report the end of this one.
            self.emit_status(job, status_of(outcome.state), attempt, None);
        }
        let record = &self.records[job];
        let products = record.products();
        let finished = EventKind::JobFinished {
            job: Arc::clone(&record.name),
            stage: Arc::clone(&record.stage),
            status: status_of(outcome.state),
            exit_code: outcome.exit_code().map(|code| code.0),
            failure_reason: outcome.failure_reason(),
            allow_failure: self.machine.may_fail(job),
            attempt,
            duration_ms: millis(duration),
            tests: products.and_then(|products| products.tests.clone()),
            coverage: products.and_then(|products| products.coverage),
            reused: outcome.reused,
            changed: products.and_then(|products| products.changed.clone()),
            artifacts: products.map_or_else(Vec::new, |products| products.artifacts.clone()),
        };
        // First the job's own end, then its effects on other jobs or its next attempt.
        self.apply(&changes[..own]);
        self.events.emit(finished);
        self.apply(&changes[own..]);
    }

    /// Ends a bridge with the status of its pipeline where that is no outcome: it waits for the user, or
    /// ran no job.
    pub(super) fn mirror(&mut self, job: usize, status: Status) {
        self.records[job].end(&JobOutcome::success());
        let changes = self.machine.mirrored(job, status);
        self.apply(&changes);
    }

    /// Notes that the downstream pipeline of a bridge has ended, or was not created.
    pub(super) fn close_bridge(&mut self, child: Option<ChildReport>) {
        self.open_bridges -= 1;
        self.children.extend(child);
        self.last_child = (!self.stop.is_canceled()).then(Instant::now);
    }

    /// Lets no further job start. Running jobs are stopped by their cancellation.
    pub(super) fn cancel_jobs(&mut self) {
        let changes = self.machine.cancel();
        self.pending.clear();
        self.bridges.clear();
        self.delays.clear();
        self.apply(&changes);
    }

    /// Returns when a delay or the time limit is the next to end.
    pub(super) fn next_alarm(&self) -> Option<Instant> {
        self.next_delay().into_iter().chain(self.time_limit()).min()
    }

    fn next_delay(&self) -> Option<Instant> {
        self.delays.peek().map(|Reverse((end, _))| *end)
    }

    fn time_limit(&self) -> Option<Instant> {
        let deadline = self.deadline.filter(|_| !self.is_stopped)?;
        self.controls.postponed(deadline)
    }

    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.time_limit().is_some_and(|limit| limit <= now)
    }

    /// Makes the jobs pending whose delay has ended.
    pub(super) fn end_delays(&mut self, now: Instant) {
        while self.next_delay().is_some_and(|end| end <= now) {
            let Some(Reverse((_, job))) = self.delays.pop() else {
                break;
            };
            let changes = self.machine.delay_over(job);
            self.apply(&changes);
        }
    }

    /// Returns whether a bridge was canceled since the last call.
    pub(super) fn take_canceled_bridge(&mut self) -> bool {
        std::mem::take(&mut self.has_canceled_bridge)
    }

    /// Returns whether no job will start or end unless the user starts one.
    pub(super) fn is_finished(&self) -> bool {
        self.machine.is_finished()
    }

    /// Returns whether only a hold keeps the pipeline open.
    pub(super) fn is_only_held(&self) -> bool {
        self.open_bridges == 0 && self.ended.is_some()
    }

    /// Returns whether the pipeline is over; if so, requests to it are refused from then on.
    pub(super) fn try_end(&self) -> bool {
        if self.open_bridges > 0 {
            return false;
        }
        if self.is_deserted || (self.is_stopped && self.is_finished()) {
            self.controls.detach();
            return true;
        }
        self.is_finished() && self.controls.detach_unless_held()
    }

    /// Returns the report of a bridge's pipeline, under the name of the bridge.
    pub(super) fn child_report(&self, bridge: &OpenBridge, report: PipelineReport) -> ChildReport {
        ChildReport {
            job: self.plan.jobs()[bridge.key.index].name().to_owned(),
            project: bridge.project.as_ref().map(ToString::to_string),
            report,
        }
    }

    /// Returns the exit code for the results of the jobs.
    fn exit_of(&self, status: Status, jobs: &[JobReport]) -> RunExit {
        let rule = self.plan.scheduling_policy().exit;
        match self.deciding {
            DecidingJobs::All => exit_of(rule, status, jobs),
            DecidingJobs::RunNow => {
                let jobs = jobs.iter().zip(&self.records);
                let now = jobs.filter(|(_, record)| !record.is_earlier());
                exit_of(rule, Status::Success, now.map(|(job, _)| job))
            }
        }
    }

    /// Emits the last event and returns the report. `interrupted` says whether the caller stopped the
    /// run, and `error` why the workers ended before the jobs.
    pub(super) fn into_report(
        self,
        interrupted: bool,
        error: Option<WorkerError>,
    ) -> PipelineReport {
        let jobs = self.records.iter().enumerate();
        let jobs: Vec<_> = jobs
            .map(|(index, record)| record.report(index, &self.machine))
            .collect();
        let status = self.machine.pipeline_status();
        let ended = self.ended.filter(|_| !self.is_stopped);
        let ended = ended
            .zip(self.last_child)
            .map(|(own, child)| own.max(child));
        let by_user = interrupted || self.stop.cause() == Some(CancelCause::User);
        let exit = if by_user && ended.is_none() {
            RunExit::Interrupted
        } else if error.is_some() {
            RunExit::Environment
        } else if self.stop.is_canceled() && ended.is_none() {
            RunExit::JobFailed
        } else {
            self.exit_of(status, &jobs)
        };
        // A pipeline without a job would count as successful; `skipped` says that nothing ran.
        let status = if jobs.is_empty() {
            Status::Skipped
        } else {
            status
        };
        // The time in which only a hold kept the pipeline open does not count.
        let end = ended.unwrap_or_else(Instant::now);
        let duration = end.duration_since(self.begun);
        self.events.emit(EventKind::PipelineDone {
            status,
            exit_code: exit.code(),
            duration_ms: millis(duration),
        });
        PipelineReport {
            id: self.plan.id(),
            status,
            exit,
            jobs,
            duration,
            error,
            children: self.children,
            times: None,
        }
    }
}

fn finish_of(outcome: &JobOutcome) -> Finish<'static> {
    match status_of(outcome.state) {
        Status::Success => Finish::Success,
        Status::Canceled => Finish::Canceled,
        _ => Finish::Failed {
            exit_code: outcome.exit_code().map(|code| code.0),
            reason: outcome.failure_reason().map(FailureReason::as_str),
        },
    }
}

/// Returns the status after an attempt. A job runner that returns before the job has ended has failed.
fn status_of(state: JobState) -> Status {
    match state {
        JobState::Success => Status::Success,
        JobState::Canceled => Status::Canceled,
        JobState::Failed | JobState::Pending | JobState::Running => Status::Failed,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
