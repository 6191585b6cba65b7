//! A worker over doubles.

use executor_core::prelude::*;
use executor_core::{ActiveJobs, ErrorPolicy, JobRunner, JobSlots, Worker};
use executor_testkit::{
    JobBuilder, RecordingJobSource, ScriptedJobRunner, ScriptedProvider, Timeline, runner_config,
};
use std::time::Duration;

/// A worker whose source and provider note their calls in one timeline.
pub(crate) struct Bench {
    pub(crate) timeline: Timeline,
    pub(crate) provider: ScriptedProvider,
    pub(crate) source: Arc<RecordingJobSource>,
    pub(crate) active: ActiveJobs,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let timeline = Timeline::new();
        Self {
            provider: ScriptedProvider::with_timeline(&timeline),
            source: Arc::new(RecordingJobSource::with_timeline(&timeline)),
            active: ActiveJobs::new(),
            timeline,
        }
    }

    pub(crate) fn hand_out(&self, id: u64) {
        self.source.hand_out(job(id));
    }

    pub(crate) fn worker(&self) -> Worker {
        self.worker_with(Arc::new(ScriptedJobRunner::new()))
    }

    pub(crate) fn worker_with(&self, runner: Arc<dyn JobRunner>) -> Worker {
        Worker {
            config: Arc::new(runner_config("scripted")),
            provider: self.provider.shared(),
            source: self.source.clone(),
            runner,
            active: self.active.clone(),
            slots: JobSlots::default(),
            pause: Duration::ZERO,
            on_error: ErrorPolicy::Retry,
        }
    }
}

pub(crate) fn job(id: u64) -> Job {
    JobBuilder::new(id).script(["true"]).build()
}
