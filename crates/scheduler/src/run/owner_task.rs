//! The owner task of a run.
//!
//! [`Driver::run`](super::Driver::run) starts the workers and then becomes the owner task: the only
//! place where the state of the run changes. Others send it a [`Message`]; there is no lock around the
//! state, and no map that tasks share.
//!
//! # State
//!
//! The owner has every pipeline of the run as a [`RunningPipeline`], by the order in which they began:
//! the one that the caller asked for, and the downstream pipelines that bridges start, however deep. A
//! running pipeline has the pure [`Machine`](crate::Machine) that decides which job may start, a record
//! of each job, its delays and its resource groups. The owner also has the replies of idle workers, and
//! the tasks that wait: for a resource group, and for the creation of a downstream pipeline.
//!
//! # Order
//!
//! A message is handled to its end before the next one. First the pipeline changes and emits its
//! events, then the owner carries out what the change queued: it starts the waits and the creations,
//! stops pipelines whose bridge was canceled, and ends the pipeline if nothing remains to happen.
//!
//! Idle workers get pending jobs after the messages that have arrived, the earliest pipeline first; one
//! worker wakes up for each job that starts. While jobs wait for resource groups, the waits that are
//! ready come before: when a job releases its group, the next job of the group takes part in the choice.
//!
//! Status events come from the owner only, in the order of the changes. A job's log goes from its
//! observer straight to the [`EventLog`](crate::event::EventLog), which numbers all events of a
//! pipeline; the log is complete before the worker sends the job's end.
//!
//! # Replies
//!
//! A worker that wants a job and a caller that sends a request wait for a oneshot reply. The owner drops
//! a reply that it cannot give: the worker then knows that no job will come, and the caller that the
//! pipeline has ended.
//!
//! # Stops
//!
//! Each pipeline has a [`Cancellation`]: a child of its bridge's, whose parent is that of the pipeline
//! above. A cancel or abort from outside, the time limit, and a request cancel such a token; so does the
//! cancellation of a bridge. Then the owner cancels the machine of every pipeline whose token is
//! canceled, and waits for the jobs that run. The workers have the token of the run, and take no job
//! after it is canceled. When all workers have ended although jobs remain, because the provider fails,
//! the pipelines are deserted: they end without waiting for anything but their bridges.

use super::bridge::{self, OpenBridge};
use super::downstream::DownstreamPipeline;
use super::message::{ControlRequest, JobKey, Message, PipelineKey};
use super::running_pipeline::{PipelineOptions, RunningPipeline};
use super::worker_link::Handout;
use crate::Status;
use crate::report::PipelineReport;
use crate::resource_groups::{self, ResourceGroups};
use executor_core::{BuildError, CancelCause, Cancellation, JobOutcome, WorkerError};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet, yield_now};
use tokio::time::{Instant, sleep_until};

/// How many messages are handled between two looks at everything else.
const BATCH: usize = 64;

/// The result of a worker.
type WorkerResult = Result<(), WorkerError>;

/// The parts of an owner task.
#[derive(Debug)]
pub(super) struct OwnerTaskOptions {
    pub(super) workers: JoinSet<WorkerResult>,
    pub(super) sender: mpsc::UnboundedSender<Message>,
    pub(super) inbox: mpsc::UnboundedReceiver<Message>,
    /// Stops the run.
    pub(super) stop: Cancellation,
    pub(super) resources: Arc<dyn ResourceGroups>,
}

/// The state of a run; see the [module](self).
#[derive(Debug)]
pub(super) struct OwnerTask {
    options: OwnerTaskOptions,
    pipelines: BTreeMap<PipelineKey, RunningPipeline>,
    /// How many pipelines have begun.
    begun: usize,
    /// The pipeline that the caller asked for, once it has ended.
    ended: Option<RunningPipeline>,
    /// The replies of idle workers, the longest idle first.
    idle: VecDeque<oneshot::Sender<Handout>>,
    /// Waits for resource groups, and calls of the port for downstream pipelines.
    tasks: JoinSet<Message>,
    /// Whether all workers have ended before the pipelines.
    is_deserted: bool,
    /// Why a worker failed.
    error: Option<WorkerError>,
    /// Whether that error is the reason why jobs did not run, or may be.
    error_counts: bool,
}

impl OwnerTask {
    pub(super) fn new(options: OwnerTaskOptions) -> Self {
        Self {
            options,
            pipelines: BTreeMap::new(),
            begun: 0,
            ended: None,
            idle: VecDeque::new(),
            tasks: JoinSet::new(),
            is_deserted: false,
            error: None,
            error_counts: false,
        }
    }

    /// Runs a pipeline and those that its bridges start, until all have ended and the workers too.
    /// `cancellation` is the caller's.
    pub(super) async fn run(
        mut self,
        root: PipelineOptions,
        cancellation: &Cancellation,
    ) -> PipelineReport {
        let stop = self.options.stop.clone();
        let stopped = stop.canceled();
        tokio::pin!(stopped);
        let mut is_stopped = false;
        let mut messages = Vec::with_capacity(BATCH);
        self.begin(root, None, stop.clone());
        let root = loop {
            if self.options.workers.is_empty() {
                self.desert();
                if let Some(root) = self.ended.take() {
                    break root;
                }
            }
            let mut can_hand_out = self.can_hand_out();
            if can_hand_out && self.tasks.is_empty() {
                self.hand_out();
                can_hand_out = false;
            }
            let alarm = self.next_alarm();
            // Messages before workers: a worker sends the end of its job before its own.
            tokio::select! {
                biased;
                _ = &mut stopped, if !is_stopped => {
                    is_stopped = true;
                    self.idle.clear();
                    self.stop_canceled();
                }
                _ = self.options.inbox.recv_many(&mut messages, BATCH) => {
                    for message in messages.drain(..) {
                        self.handle(message);
                    }
                }
                Some(result) = self.tasks.join_next(), if !self.tasks.is_empty() => match result {
                    Ok(message) => self.handle(message),
                    Err(error) => tracing::error!(%error, "A task of the scheduler panicked."),
                },
                Some(result) = self.options.workers.join_next() => self.worker_ended(result),
                () = sleep_until_some(alarm) => self.alarm(),
                () = yield_now(), if can_hand_out => {}
            }
            if can_hand_out {
                self.hand_out();
            }
        };
        let error = self.error.filter(|_| self.error_counts);
        root.into_report(cancellation.is_canceled(), error)
    }

    fn handle(&mut self, message: Message) {
        match message {
            // Dropped, the reply says that no job will come.
            Message::JobWanted(_) if self.is_closed() => {}
            Message::JobWanted(reply) => self.idle.push_back(reply),
            Message::JobEnded { job, outcome } => {
                self.change(job.pipeline, |it| it.end_attempt(job.index, &outcome));
            }
            Message::Control { pipeline, request } => self.control(pipeline, request),
            Message::GroupLeased { job, lease } => {
                self.change(job.pipeline, |it| it.group_leased(job.index, lease));
            }
            Message::DownstreamCreated {
                bridge,
                created: Ok(created),
            } => self.begin_downstream(bridge, *created),
            Message::DownstreamCreated {
                bridge,
                created: Err(error),
            } => {
                let JobKey { pipeline, index } = bridge.key;
                self.change(pipeline, |it| {
                    it.end_attempt(index, &JobOutcome::from_error(error));
                    it.close_bridge(None);
                });
            }
            Message::BridgeSucceeded { bridge, report } => {
                self.close_bridge(&bridge, Some(Status::Success), *report);
            }
        }
    }

    /// Changes a pipeline, and carries out what that leads to.
    fn change<T>(
        &mut self,
        key: PipelineKey,
        change: impl FnOnce(&mut RunningPipeline) -> T,
    ) -> Option<T> {
        let Some(pipeline) = self.pipelines.get_mut(&key) else {
            tracing::debug!(?key, "A message came after its pipeline had ended.");
            return None;
        };
        let result = change(pipeline);
        self.carry_out(key);
        Some(result)
    }

    /// Does what a change of a pipeline has queued, and ends the pipeline if it is over.
    fn carry_out(&mut self, key: PipelineKey) {
        let Some(pipeline) = self.pipelines.get_mut(&key) else {
            return;
        };
        while let Some(wait) = pipeline.take_group_wait() {
            let resources = Arc::clone(&self.options.resources);
            self.tasks.spawn(async move {
                let job = JobKey {
                    pipeline: key,
                    index: wait.index,
                };
                let lease = resource_groups::wait(&*resources, wait.request, &wait.cancellation);
                Message::GroupLeased {
                    job,
                    lease: lease.await,
                }
            });
        }
        while let Some(attempt) = pipeline.take_bridge() {
            let job = JobKey {
                pipeline: key,
                index: attempt.index,
            };
            let downstream = pipeline.downstream.clone();
            self.tasks.spawn(bridge::create(job, attempt, downstream));
        }
        let canceled_bridge = pipeline.take_canceled_bridge();
        if pipeline.try_end() {
            self.end(key);
        }
        if canceled_bridge {
            self.stop_canceled();
        }
    }

    /// Begins a pipeline.
    fn begin(
        &mut self,
        options: PipelineOptions,
        bridge: Option<Box<OpenBridge>>,
        stop: Cancellation,
    ) {
        let key = PipelineKey(self.begun);
        self.begun += 1;
        let pipeline = RunningPipeline::begin(options, bridge, stop, &self.options.resources);
        pipeline.controls.attach(self.options.sender.clone(), key);
        let is_canceled = pipeline.stop.is_canceled();
        self.pipelines.insert(key, pipeline);
        if self.is_deserted || is_canceled {
            self.halt(key);
        } else {
            self.carry_out(key);
        }
    }

    /// Begins the downstream pipeline of a bridge. A bridge without a strategy has succeeded.
    fn begin_downstream(&mut self, mut bridge: Box<OpenBridge>, created: DownstreamPipeline) {
        let JobKey { pipeline, index } = bridge.key;
        let Some(parent) = self.pipelines.get_mut(&pipeline) else {
            return;
        };
        bridge.project.clone_from(&created.parent.project);
        let stop = bridge.cancellation.child();
        let options = PipelineOptions::downstream(created, parent);
        if bridge.strategy.is_none() {
            self.change(pipeline, |it| {
                it.end_attempt(index, &JobOutcome::success());
            });
        }
        self.begin(options, Some(bridge), stop);
    }

    /// Ends a pipeline: the first one waits for the workers, any other one is reported to its bridge.
    fn end(&mut self, key: PipelineKey) {
        let Some(mut pipeline) = self.pipelines.remove(&key) else {
            return;
        };
        let Some(bridge) = pipeline.bridge.take() else {
            self.idle.clear();
            self.ended = Some(pipeline);
            return;
        };
        let interrupted = pipeline.stop.is_canceled();
        let report = pipeline.into_report(interrupted, None);
        let status = bridge
            .strategy
            .map(|strategy| bridge::status_after(strategy, report.status));
        if status == Some(Status::Success) {
            let report = Box::new(report);
            self.tasks.spawn(bridge::succeed(bridge, report));
        } else {
            self.close_bridge(&bridge, status, report);
        }
    }

    /// Closes a bridge whose pipeline has ended; `status` is the bridge's own if it waited.
    fn close_bridge(
        &mut self,
        bridge: &OpenBridge,
        status: Option<Status>,
        report: PipelineReport,
    ) {
        let JobKey { pipeline, index } = bridge.key;
        self.change(pipeline, |parent| {
            if let Some(status) = status {
                match bridge::outcome_of(status, &report) {
                    Some(outcome) => parent.end_attempt(index, &outcome),
                    None => parent.mirror(index, status),
                }
            }
            let child = parent.child_report(bridge, report);
            parent.close_bridge(Some(child));
        });
    }

    fn control(&mut self, key: PipelineKey, request: ControlRequest) {
        // A caller that no longer waits for the reply does not need it.
        match request {
            ControlRequest::Play {
                job,
                variables,
                reply,
            } => {
                let _ = self
                    .change(key, |it| it.play(&job, variables))
                    .map(|result| reply.send(result));
            }
            ControlRequest::Retry { job, reply } => {
                let _ = self
                    .change(key, |it| it.retry(&job))
                    .map(|result| reply.send(result));
            }
            ControlRequest::CancelJob { job, reply } => {
                let _ = self
                    .change(key, |it| it.cancel_job(&job))
                    .map(|result| reply.send(result));
            }
            ControlRequest::Cancel { reply } => {
                if let Some(pipeline) = self.pipelines.get(&key) {
                    pipeline.stop.cancel(CancelCause::User);
                    let _ = reply.send(Ok(()));
                    self.stop_canceled();
                }
            }
            ControlRequest::Status { reply } => {
                if let Some(pipeline) = self.pipelines.get(&key) {
                    let _ = reply.send(Ok(pipeline.snapshot()));
                }
            }
            ControlRequest::Recheck => self.carry_out(key),
        }
    }

    /// Stops the pipelines whose cancellation has come since the last call, parents first.
    fn stop_canceled(&mut self) {
        let canceled = self
            .pipelines
            .iter()
            .filter(|(_, pipeline)| pipeline.stop.is_canceled() && !pipeline.is_stopped);
        let canceled: Vec<PipelineKey> = canceled.map(|(key, _)| *key).collect();
        for key in canceled {
            self.halt(key);
        }
    }

    /// Lets no further job of a pipeline start, and ends the pipeline if no job runs.
    fn halt(&mut self, key: PipelineKey) {
        let Some(pipeline) = self.pipelines.get_mut(&key) else {
            return;
        };
        if pipeline.is_only_held() {
            // It ends with the result that it had.
            pipeline.controls.detach();
            self.end(key);
            return;
        }
        pipeline.is_stopped = pipeline.stop.is_canceled();
        pipeline.is_deserted = self.is_deserted;
        pipeline.cancel_jobs();
        self.carry_out(key);
    }

    /// Ends the pipelines because no worker is left.
    fn desert(&mut self) {
        if std::mem::replace(&mut self.is_deserted, true) {
            return;
        }
        // After a stop, the workers end with the jobs that ran.
        let has_jobs = self.pipelines.values().any(|it| !it.is_finished());
        self.error_counts |= has_jobs && !self.options.stop.is_canceled();
        let keys: Vec<PipelineKey> = self.pipelines.keys().copied().collect();
        for key in keys {
            self.halt(key);
        }
    }

    fn worker_ended(&mut self, result: Result<WorkerResult, JoinError>) {
        // The end of its last job may have come after the last look at the messages.
        while let Ok(message) = self.options.inbox.try_recv() {
            self.handle(message);
        }
        let error = match result {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(panic) => WorkerError::Panicked(panic.into()),
        };
        if matches!(error, WorkerError::Panicked(_)) {
            // The end of its job may never come, and other jobs wait for it.
            self.error_counts = true;
            self.options.stop.cancel(CancelCause::Shutdown);
            self.stop_canceled();
        }
        // Other workers finish the jobs that one did not take.
        self.error.get_or_insert(error);
    }

    /// Returns when the time limit or a delay of any pipeline is the next to end.
    fn next_alarm(&self) -> Option<Instant> {
        let alarms = self.pipelines.values();
        alarms.filter_map(RunningPipeline::next_alarm).min()
    }

    /// Ends the delays and the time limits whose time has come.
    fn alarm(&mut self) {
        let now = Instant::now();
        let keys: Vec<PipelineKey> = self.pipelines.keys().copied().collect();
        for key in keys {
            let Some(pipeline) = self.pipelines.get(&key) else {
                continue;
            };
            if !pipeline.is_overdue(now) {
                self.change(key, |it| it.end_delays(now));
            } else if pipeline.is_only_held() {
                self.halt(key);
            } else {
                pipeline.stop.cancel(CancelCause::Timeout);
                self.stop_canceled();
            }
        }
    }

    fn can_hand_out(&self) -> bool {
        !self.idle.is_empty() && self.pipelines.values().any(RunningPipeline::has_pending)
    }

    /// Hands pending jobs to idle workers.
    fn hand_out(&mut self) {
        while let Some(reply) = self.idle.pop_front() {
            if reply.is_closed() {
                continue;
            }
            let Some(handout) = self.next_handout() else {
                self.idle.push_front(reply);
                return;
            };
            if let Err(handout) = reply.send(handout) {
                let error = BuildError::Canceled(CancelCause::Shutdown);
                let JobKey { pipeline, index } = handout.job;
                self.change(pipeline, |it| {
                    it.end_attempt(index, &JobOutcome::from_error(error));
                });
            }
        }
    }

    fn next_handout(&mut self) -> Option<Handout> {
        self.pipelines.iter_mut().find_map(|(&key, pipeline)| {
            let attempt = pipeline.take()?;
            Some(Handout {
                job: JobKey {
                    pipeline: key,
                    index: attempt.index,
                },
                runner: Arc::clone(&pipeline.runner),
                attempt,
            })
        })
    }

    /// Returns whether no worker gets a job any more.
    fn is_closed(&self) -> bool {
        self.ended.is_some() || self.options.stop.is_canceled()
    }
}

/// Waits until a moment; forever without one.
async fn sleep_until_some(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
