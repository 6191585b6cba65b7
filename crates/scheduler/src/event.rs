//! The events of a pipeline, for views, journals and other programs.

use crate::Status;
use executor_core::{
    ChangedFiles, FailureReason, PipelineId, RetainedArtifact, ReusedFrom, TestTotals,
};
use jiff::{Timestamp, Unit};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;

/// The version of the event format.
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
    /// The version of the format.
    pub v: u32,
    /// Its number in the stream, from 1, without gaps.
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
        /// The job that started it; absent for a pipeline that the user started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ParentJob>,
    },
    /// The first job of a stage starts.
    StageStart {
        /// The stage.
        stage: Arc<str>,
    },
    /// A job has a new status.
    JobStatus {
        /// The job.
        job: Arc<str>,
        /// Its stage.
        stage: Arc<str>,
        /// Its new status.
        status: Status,
        /// The number of its attempt, from 1.
        attempt: u32,
        /// When the delay of a `scheduled` job ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// A stage of a job begins or ends.
    JobStage {
        /// The job.
        job: Arc<str>,
        /// GitLab's name of the stage: `prepare_executor`, `get_sources`, `step_script`.
        name: Arc<str>,
        /// Whether it begins, or its result.
        state: StageState,
        /// Whether it runs the script of the job's author.
        user_code: bool,
        /// Its duration in milliseconds, once it has ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// A job has written a line, or a part of one.
    JobLog {
        /// The job.
        job: Arc<str>,
        /// The source of the line.
        stream: LogStream,
        /// The line without its end, at most 64 KiB, secrets masked, invalid UTF-8 replaced.
        line: String,
        /// Whether the text continues the last one of this stream.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cont: bool,
        /// Whether a later event may continue the line.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        open: bool,
        /// The severity of a line of the runner.
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
        /// Whether it may fail.
        allow_failure: bool,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The duration of the attempt in milliseconds.
        duration_ms: u64,
        /// The totals of its JUnit reports, when it has any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tests: Option<TestTotals>,
        /// The percentage that its `coverage` found in the log.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        coverage: Option<f64>,
        /// The run whose result it reused instead of running.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reused: Option<ReusedFrom>,
        /// The tracked files that it changed, where that is watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed: Option<ChangedFiles>,
        /// Its stored artifacts, including reports.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<RetainedArtifact>,
    },
    /// The pipeline has ended, or waits for the user.
    PipelineDone {
        /// Its status; `skipped` when there was no job to run.
        status: Status,
        /// The exit code of the program that ran it.
        exit_code: u8,
        /// Its duration in milliseconds.
        duration_ms: u64,
    },
}

/// The job that started a downstream pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentJob {
    /// The pipeline of the job.
    pub pipeline: PipelineId,
    /// The job.
    pub job: Arc<str>,
    /// The project of the downstream pipeline, if that is another one.
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

/// The state of a stage of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    /// It begins.
    Started,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
}

/// The severity of a line of the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// It describes progress.
    Info,
    /// It is a warning or an error.
    Warning,
}

/// The source of a line of a job's log.
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

/// Receives the events of a pipeline.
///
/// Events of a pipeline arrive in the order of `seq`, one at a time, from any thread. Events of
/// different pipelines may arrive at once. The pipeline waits for the call, so an implementation should
/// return soon.
pub trait EventSink: Send + Sync + Debug {
    /// Receives one event.
    fn event(&self, event: &PipelineEvent);

    /// Called after each event, or once after several that belong together, such as the lines of one
    /// read. A sink can buffer events until then.
    fn flush(&self) {}
}

/// Numbers the events and passes them to the sink, one after the other.
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

    /// Begins a series of similar events of one moment; the first is `kind`.
    ///
    /// All other events wait until the burst is dropped.
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

/// Events of one moment, such as the lines of one read from a job's output.
///
/// They share their memory, because a flood of lines should cost little more than its bytes.
pub(crate) struct Burst<'l> {
    sink: &'l dyn EventSink,
    /// Locked while the sink works: numbers and order of arrival must agree.
    last_seq: MutexGuard<'l, u64>,
    event: PipelineEvent,
}

impl Burst<'_> {
    /// Emits the next event: the last one after `change`.
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

    /// Counts the events between flushes.
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
    fn burst_is_flushed_once() {
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
