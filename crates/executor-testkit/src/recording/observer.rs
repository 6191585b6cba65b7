use crate::event::Event;
use crate::recording::RecordingTrace;
use crate::timeline::Timeline;
use executor_core::{BuildStage, JobObserver, JobTrace, StageReport, TraceStream};
use parking_lot::Mutex;
use std::sync::Arc;

/// An observer of a job that records all events. Clones share their records.
#[derive(Debug, Clone, Default)]
pub struct RecordingObserver {
    timeline: Timeline,
    output: RecordingTrace,
    reports: Arc<Mutex<Vec<StageReport>>>,
}

impl RecordingObserver {
    /// Returns an observer with a new timeline.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an observer that records its calls in `timeline`.
    pub fn with_timeline(timeline: &Timeline) -> Self {
        Self {
            timeline: timeline.clone(),
            ..Self::default()
        }
    }

    /// Returns the timeline of its calls, without output.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the output.
    pub fn output(&self) -> &RecordingTrace {
        &self.output
    }

    /// Returns the reports of stages, in order.
    pub fn reports(&self) -> Vec<StageReport> {
        self.reports.lock().clone()
    }
}

impl JobObserver for RecordingObserver {
    fn started(&self) {
        self.timeline.record(Event::Started);
    }

    fn stage_started(&self, stage: &BuildStage) {
        self.timeline.record(Event::StageStarted {
            stage: stage.clone(),
        });
    }

    fn stage_finished(&self, report: &StageReport) {
        self.reports.lock().push(report.clone());
        self.timeline.record(Event::StageFinished {
            stage: report.stage.clone(),
            succeeded: report.succeeded,
        });
    }

    fn output(&self, stream: TraceStream, data: &[u8]) {
        self.output.write(stream, data);
    }

    fn idle(&self, stream: TraceStream) {
        self.output.idle(stream);
    }
}
