//! What happens in a pipeline, as a stream of events for people and machines.

use crate::Status;
use executor_core::{
    ChangedFiles, FailureReason, PipelineId, RetainedArtifact, ReusedFrom, TestTotals,
};
use jiff::{Timestamp, Unit};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;

/// The version of the events' shape.
pub const EVENT_VERSION: u32 = 1;

/// One event; serialized, it is one line of the event stream.
///
/// # Examples
///
/// ```
/// use scheduler::event::{EventKind, PipelineEvent};
///
/// let line = r#"{"v":1,"seq":2,"at":"2026-11-20T10:00:00Z","pipeline":7,"type":"stage_start","stage":"test"}"#;
/// let event: PipelineEvent = serde_json::from_str(line)?;
/// assert_eq!(event.kind, EventKind::StageStart { stage: "test".into() });
/// assert_eq!(serde_json::to_string(&event)?, line);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PipelineEvent {
    /// The version of the shape.
    pub v: u32,
    /// Its place in the stream, from 1, without gaps.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// The pipeline it happened in.
    pub pipeline: PipelineId,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// The pipeline begins.
    PipelineStarted {
        /// Its jobs by name, by stage.
        jobs: Vec<Arc<str>>,
        /// The same jobs with what they wait for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        graph: Vec<JobNode>,
        /// The job that started it; absent for a pipeline that nobody but its user started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ParentJob>,
    },
    /// The first job of a stage starts.
    StageStart {
        /// The stage.
        stage: Arc<str>,
    },
    /// A job has come to another status.
    JobStatus {
        /// The job.
        job: Arc<str>,
        /// Its stage.
        stage: Arc<str>,
        /// Its new status.
        status: Status,
        /// The attempt it is at, from 1.
        attempt: u32,
    },
    /// A job has come to another of the stages it is run in, or has ended one.
    JobStage {
        /// The job.
        job: Arc<str>,
        /// GitLab's name of the stage: `prepare_executor`, `get_sources`, `step_script`.
        name: Arc<str>,
        /// Whether it begins, or how it ended.
        state: StageState,
        /// Whether what the job's author wrote runs in it.
        user_code: bool,
        /// How long it took, in milliseconds, once it has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A job has written a line, or a piece of one.
    JobLog {
        /// The job.
        job: Arc<str>,
        /// Where the line came from.
        stream: LogStream,
        /// The line without its end, at most 64 KiB, secrets masked, invalid UTF-8 replaced.
        line: String,
        /// Whether the text goes on where the last one of this stream stopped.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cont: bool,
        /// Whether the line may go on in a later event.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        open: bool,
        /// How much it deserves to be read, where the runner itself says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        level: Option<LogLevel>,
    },
    /// An attempt of a job has ended.
    JobFinished {
        /// The job.
        job: Arc<str>,
        /// Its stage.
        stage: Arc<str>,
        /// `success`, `failed` or `canceled`.
        status: Status,
        /// The exit code of its script, when one decided.
        exit_code: Option<i32>,
        /// Why it did not succeed.
        failure_reason: Option<FailureReason>,
        /// Whether its failure lets the pipeline pass.
        allow_failure: bool,
        /// The attempt that has ended, from 1.
        attempt: u32,
        /// How long the attempt took, in milliseconds.
        duration_ms: u64,
        /// What its junit reports tell, when it left any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<TestTotals>,
        /// The figure that its `coverage` found in the log, in percent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coverage: Option<f64>,
        /// Where its end comes from, when it did not run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reused: Option<ReusedFrom>,
        /// The tracked files that it changed without saying so, where somebody looked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<ChangedFiles>,
        /// The artifacts that are kept of it, reports among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<RetainedArtifact>,
    },
    /// The pipeline has ended, or waits for somebody.
    PipelineDone {
        /// The status it came to; `skipped` when there was nothing to run.
        status: Status,
        /// The exit code of the program that ran it.
        exit_code: u8,
        /// How long it took, in milliseconds.
        duration_ms: u64,
    },
}

/// The job of another pipeline that started one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentJob {
    /// The pipeline it belongs to.
    pub pipeline: PipelineId,
    /// The job.
    pub job: Arc<str>,
    /// The project of the pipeline that it started, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Arc<str>>,
}

/// A job of the pipeline and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNode {
    /// The job.
    pub job: Arc<str>,
    /// Its stage.
    pub stage: Arc<str>,
    /// The jobs it needs; `None` when it waits for all earlier stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Vec<Arc<str>>>,
}

/// Where a stage of a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    /// It begins.
    Started,
    /// It ended well.
    Succeeded,
    /// It did not.
    Failed,
}

/// How much a line of the runner's own deserves to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// It tells what goes on.
    Info,
    /// It is a warning or an error.
    Warning,
}

/// Where a line of a job's log came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogStream {
    /// The job's standard output.
    Stdout,
    /// The job's standard error.
    Stderr,
    /// The runner, or a service of the job.
    System,
}

/// Takes the events of a pipeline.
///
/// Events of a pipeline come in the order of `seq`, one at a time, from any thread. Those of a
/// pipeline and of its children may come at once. The pipeline waits while one is taken, so an
/// implementation should return soon.
pub trait EventSink: Send + Sync + Debug {
    /// Takes one event.
    fn event(&self, event: &PipelineEvent);

    /// Called after each event, or once after several that came together, such as the lines of one
    /// read. What a sink gathers until then it can pass on at one time.
    fn flush(&self) {}
}

/// Numbers the events and hands them to the sink, one after the other.
#[derive(Debug)]
pub(crate) struct EventLog {
    pipeline: PipelineId,
    sink: Arc<dyn EventSink>,
    last_seq: Mutex<u64>,
}

impl EventLog {
    pub(crate) fn new(pipeline: PipelineId, sink: Arc<dyn EventSink>) -> Self {
        Self {
            pipeline,
            sink,
            last_seq: Mutex::new(0),
        }
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        self.burst(kind).emit(|_| ());
    }

    /// Begins a number of events of one moment that are much alike: the first one is `kind`.
    ///
    /// All others wait until it is dropped.
    pub(crate) fn burst(&self, kind: EventKind) -> Burst<'_> {
        let now = Timestamp::now();
        Burst {
            sink: &*self.sink,
            last_seq: self.last_seq.lock(),
            event: PipelineEvent {
                v: EVENT_VERSION,
                seq: 0,
                at: now.round(Unit::Millisecond).unwrap_or(now),
                pipeline: self.pipeline,
                kind,
            },
        }
    }
}

/// Events of one moment, such as the lines that one read from a job's output has brought.
///
/// They share their memory, since a flood of lines should cost little more than its bytes.
pub(crate) struct Burst<'l> {
    sink: &'l dyn EventSink,
    /// Held while the sink works: numbers and order of arrival must agree.
    last_seq: MutexGuard<'l, u64>,
    event: PipelineEvent,
}

impl Burst<'_> {
    /// Hands out the next event: the last one after `change`.
    pub(crate) fn emit(&mut self, change: impl FnOnce(&mut EventKind)) {
        change(&mut self.event.kind);
        *self.last_seq += 1;
        self.event.seq = *self.last_seq;
        self.sink.event(&self.event);
    }
}

impl Drop for Burst<'_> {
    fn drop(&mut self) {
        self.sink.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts events, and what came between two flushes.
    #[derive(Debug, Default)]
    struct Counter(Mutex<(usize, Vec<usize>)>);

    impl EventSink for Counter {
        fn event(&self, _: &PipelineEvent) {
            self.0.lock().0 += 1;
        }

        fn flush(&self) {
            let mut counts = self.0.lock();
            let since = std::mem::take(&mut counts.0);
            counts.1.push(since);
        }
    }

    #[test]
    fn events_that_come_together_are_flushed_together() {
        let counter = Arc::new(Counter::default());
        let sink: Arc<dyn EventSink> = Arc::clone(&counter) as _;
        let log = EventLog::new(PipelineId(1), sink);
        let kind = || EventKind::StageStart {
            stage: "test".into(),
        };
        log.emit(kind());
        let mut burst = log.burst(kind());
        (0..3).for_each(|_| burst.emit(|_| ()));
        drop(burst);
        log.emit(kind());
        assert_eq!(counter.0.lock().1, [1, 3, 1]);
    }
}
