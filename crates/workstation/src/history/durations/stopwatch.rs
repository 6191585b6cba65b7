use super::times_line::{JobPlace, RunTimes};
use executor_core::PipelineId;
use parking_lot::Mutex;
use scheduler::Status;
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Collects the durations of one pipeline's successful jobs, and passes all events on.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    pipeline: PipelineId,
    jobs: Mutex<Vec<(Arc<str>, u64)>>,
    next: Arc<dyn EventSink>,
}

impl Stopwatch {
    pub(crate) fn new(pipeline: PipelineId, next: Arc<dyn EventSink>) -> Self {
        Self {
            pipeline,
            jobs: Mutex::default(),
            next,
        }
    }

    /// Returns the durations to record for the run, if any.
    pub(crate) fn times(&self, place: JobPlace) -> Option<RunTimes> {
        let mut jobs = self.jobs.lock();
        let jobs = std::mem::take(&mut *jobs).into_iter();
        let jobs: BTreeMap<String, u64> = jobs.map(|(job, took)| (job.to_string(), took)).collect();
        (!jobs.is_empty()).then(|| RunTimes::new(self.pipeline.0, place, jobs))
    }
}

impl EventSink for Stopwatch {
    fn event(&self, event: &PipelineEvent) {
        if let EventKind::JobFinished {
            job,
            status: Status::Success,
            duration_ms,
            reused: None,
            ..
        } = &event.kind
            && event.pipeline == self.pipeline
        {
            let mut jobs = self.jobs.lock();
            jobs.push((Arc::clone(job), *duration_ms));
        }
        self.next.event(event);
    }

    fn flush(&self) {
        self.next.flush();
    }
}
