use super::Status;
use super::bridge;
use super::controls::Controls;
use super::dispatcher::Dispatcher;
use super::downstream::{Downstream, DownstreamPipeline};
use super::progress::RunProgress;
use super::queue::Queue;
use super::resources::ResourceGroups;
use crate::event::{EventKind, EventLog, EventSink, ParentJob};
use crate::report::{ChildReport, PipelineReport, RunExit, exit_of};
use executor_core::{CancelCause, Cancellation, JobRunner, WorkerError};
use pipeline::plan::Plan;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Brings one pipeline to its end, and those that its jobs start.
#[derive(Debug, Clone)]
pub(super) struct Conductor {
    pub(super) plan: Arc<Plan>,
    /// The job that started it.
    pub(super) parent: Option<ParentJob>,
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) runner: Arc<dyn JobRunner>,
    pub(super) sink: Arc<dyn EventSink>,
    pub(super) controls: Controls,
    pub(super) progress: Arc<RunProgress>,
    pub(super) resources: Arc<dyn ResourceGroups>,
    pub(super) downstream: Option<Arc<dyn Downstream>>,
    /// The longest it may take.
    pub(super) timeout: Option<Duration>,
}

/// A pipeline that has come to its end, and is to be told of.
#[derive(Debug)]
pub(super) struct Concluded {
    queue: Arc<Queue>,
    events: Arc<EventLog>,
    begun: Instant,
    attended: Attended,
}

/// How a pipeline came to its end.
#[derive(Debug)]
struct Attended {
    /// The pipelines that it started.
    children: Vec<ChildReport>,
    /// When all had ended, if that was before somebody stopped it.
    ended: Option<Instant>,
}

impl Conductor {
    /// Returns who conducts a pipeline that a job of this one starts.
    pub(super) fn child(&self, started: DownstreamPipeline) -> Self {
        Self {
            plan: started.plan,
            parent: Some(started.parent),
            dispatcher: Arc::clone(&self.dispatcher),
            runner: started.runner.unwrap_or_else(|| Arc::clone(&self.runner)),
            sink: started.sink.unwrap_or_else(|| Arc::clone(&self.sink)),
            controls: started.controls,
            progress: started.progress,
            resources: Arc::clone(&self.resources),
            downstream: started.downstream,
            timeout: None,
        }
    }

    /// Begins the pipeline, which `stop` stops, and waits until all has ended that goes on by itself,
    /// in those that it starts too.
    pub(super) async fn conduct(&self, stop: &Cancellation) -> Concluded {
        let begun = Instant::now();
        let events = Arc::new(EventLog::new(self.plan.id(), Arc::clone(&self.sink)));
        let queue = Queue::new(
            Arc::clone(&self.plan),
            Arc::clone(&events),
            Arc::clone(self.dispatcher.ready()),
            stop.clone(),
            &self.progress,
            &self.resources,
            &self.controls.holds,
        );
        self.dispatcher
            .serve(Arc::clone(&queue), Arc::clone(&self.runner));
        queue.start(self.parent.clone());
        self.controls.attach(&queue);
        let attended = self.run_until_done(&queue, stop, begun).await;
        self.controls.detach();
        self.dispatcher.dismiss(&queue);
        Concluded {
            queue,
            events,
            begun,
            attended,
        }
    }

    /// Waits for all jobs and for the pipelines that they start; meanwhile for delays, the pipeline's
    /// own time and a stop. While somebody holds it open it waits on.
    async fn run_until_done(
        &self,
        queue: &Arc<Queue>,
        stop: &Cancellation,
        begun: Instant,
    ) -> Attended {
        // A time that no clock will reach is none.
        let deadline = self.timeout.and_then(|timeout| begun.checked_add(timeout));
        let mut bridges = JoinSet::new();
        let mut children = Vec::new();
        // When the last pipeline below ended, unless a stop has ended it.
        let mut last_child = Some(begun);
        let (mut is_stopped, mut is_deserted) = (false, false);
        loop {
            while let Some(bridge) = queue.take_bridge() {
                bridges.spawn(bridge::cross(self.clone(), Arc::clone(queue), bridge));
            }
            if bridges.is_empty() && (is_deserted || queue.close(!is_stopped)) {
                break;
            }
            let delay = queue.next_delay();
            let stopped = tokio::select! {
                Some(ended) = bridges.join_next() => {
                    match ended {
                        Ok(child) => children.extend(child),
                        Err(error) => tracing::error!(%error, "A bridge was left behind."),
                    }
                    last_child = (!stop.is_canceled()).then(Instant::now);
                    continue;
                }
                () = queue.changed() => continue,
                () = until(delay), if !is_stopped => {
                    queue.end_delays();
                    continue;
                }
                () = until(deadline.and_then(|it| self.controls.clock.put_off(it))), if !is_stopped => Stopped::InTime,
                _ = stop.canceled(), if !is_stopped => Stopped::Told,
                () = self.dispatcher.deserted(), if !is_deserted => Stopped::Deserted,
            };
            // It may have been held open only: then it ends as what it came to.
            if bridges.is_empty() && queue.ended().is_some() && queue.close(false) {
                break;
            }
            match stopped {
                Stopped::InTime => stop.cancel(CancelCause::Timeout),
                Stopped::Told => {
                    is_stopped = true;
                    queue.cancel();
                }
                Stopped::Deserted => {
                    is_deserted = true;
                    queue.cancel();
                }
            }
        }
        let ended = queue.ended().filter(|_| !is_stopped);
        Attended {
            children,
            ended: ended.zip(last_child).map(|(own, child)| own.max(child)),
        }
    }
}

/// Why a pipeline does not go on.
enum Stopped {
    /// Its time is over.
    InTime,
    /// Somebody told it to stop.
    Told,
    /// No worker is left.
    Deserted,
}

impl Concluded {
    /// Tells everybody of the end; `interrupted` says whether somebody wanted it, and `error` why
    /// nobody was left to run the jobs.
    pub(super) fn into_report(
        self,
        stop: &Cancellation,
        interrupted: bool,
        error: Option<WorkerError>,
    ) -> PipelineReport {
        let (status, jobs) = self.queue.report();
        let by_somebody = interrupted || stop.cause() == Some(CancelCause::User);
        let exit = if by_somebody && self.attended.ended.is_none() {
            RunExit::Interrupted
        } else if error.is_some() {
            RunExit::Environment
        } else if stop.is_canceled() && self.attended.ended.is_none() {
            RunExit::JobFailed
        } else {
            exit_of(self.queue.plan.scheduling_policy().exit, status, &jobs)
        };
        // A pipeline without a job would count as successful; that it did nothing says more.
        let status = if jobs.is_empty() {
            Status::Skipped
        } else {
            status
        };
        // Somebody who looks at what has ended takes his own time.
        let end = self.attended.ended.unwrap_or_else(Instant::now);
        let duration = end.duration_since(self.begun);
        self.events.emit(EventKind::PipelineDone {
            status,
            exit_code: exit.code(),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        });
        PipelineReport {
            id: self.queue.plan.id(),
            status,
            exit,
            jobs,
            duration,
            error,
            children: self.attended.children,
            times: None,
        }
    }
}

/// Waits until a moment; without one, for ever.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
