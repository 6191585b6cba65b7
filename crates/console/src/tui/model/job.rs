use super::{JobId, Pager};
use crate::outcome::Outcome;
use crate::tui::log::JobLog;
use executor_core::{ChangedFiles, PipelineId, RetainedArtifact, TestTotals};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A job, as far as the full screen tells of it.
#[derive(Debug)]
pub(in crate::tui) struct Job {
    pub(in crate::tui) pipeline: PipelineId,
    /// Its name in the file.
    pub(in crate::tui) own_name: Arc<str>,
    /// Its stage, as a position.
    pub(in crate::tui) stage: usize,
    pub(in crate::tui) attempt: u32,
    /// How its last attempt has ended.
    pub(in crate::tui) outcome: Option<Outcome>,
    pub(in crate::tui) tests: Option<TestTotals>,
    pub(in crate::tui) coverage: Option<f64>,
    /// The tracked files that it changed without saying so.
    pub(in crate::tui) changed: Option<ChangedFiles>,
    /// What is kept of it.
    pub(in crate::tui) artifacts: Vec<RetainedArtifact>,
    /// The stage of the runner that it is at.
    pub(in crate::tui) step: Option<Arc<str>>,
    pub(in crate::tui) log: JobLog,
    pub(in crate::tui) pager: Pager,
}

impl Job {
    pub(super) fn new(pipeline: PipelineId, own_name: Arc<str>, stage: usize, log: JobLog) -> Self {
        Self {
            pipeline,
            own_name,
            stage,
            attempt: 1,
            outcome: None,
            tests: None,
            coverage: None,
            changed: None,
            artifacts: Vec::new(),
            step: None,
            log,
            pager: Pager::default(),
        }
    }

    pub(super) fn id(&self) -> JobId {
        JobId {
            pipeline: self.pipeline,
            job: Arc::clone(&self.own_name),
        }
    }

    /// Returns how long it runs or took; `since` is when it began if it runs.
    pub(in crate::tui) fn time(&self, since: Option<Instant>, now: Instant) -> Option<Duration> {
        let ended = self.outcome.map(|outcome| outcome.duration);
        since
            .map(|since| now.saturating_duration_since(since))
            .or(ended)
    }
}
