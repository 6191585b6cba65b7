//! What the full screen knows and what it was told to show: a pure function of events and keys.

mod events;
mod input;
mod job;
mod keys;
mod log_view;
mod mouse;
mod pager;
mod selection;
mod talk;

pub(super) use input::{Input, Purpose};
pub(super) use job::Job;
pub(super) use log_view::LogLines;
pub(super) use pager::Pager;
pub(super) use talk::{Note, Question};

use super::layout::Layout;
use super::log::{Search, Store};
use crate::Style;
use crate::board::{Board, Counts};
use crate::lineage::Lineage;
use executor_core::PipelineId;
use executor_core::variable::JobVariable;
use scheduler::Status;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All that the full screen shows.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, and all combinations happen"
)]
pub(super) struct Model {
    pub(super) style: Style,
    verbose: bool,
    pub(super) head: Head,
    lineage: Lineage,
    pub(super) board: Board,
    /// The jobs, in the order of the board.
    pub(super) jobs: Vec<Job>,
    index: HashMap<Arc<str>, usize>,
    pub(super) stages: Vec<Stage>,
    store: Store,
    pub(super) end: Option<End>,
    /// When nothing went on any more.
    settled: Option<Instant>,

    /// The chosen job.
    pub(super) chosen: usize,
    pub(super) focus: Focus,
    /// The log has the screen for itself.
    pub(super) is_zoomed: bool,
    /// Whether details of the job are shown; without a word on it, where there is room.
    pub(super) details: Option<bool>,
    /// The help is shown, from this line.
    pub(super) help: Option<u16>,
    /// The messages are shown, from this line.
    pub(super) messages_shown: Option<u16>,
    pub(super) filter: String,
    pub(super) search: Option<Search>,
    /// The search is on its way to a hit.
    pub(super) goes: Option<(super::log::Way, u64)>,
    pub(super) wraps: bool,
    pub(super) has_mouse: bool,
    pub(super) input: Option<Input>,
    pub(super) question: Option<Question>,
    pub(super) note: Option<Note>,
    pub(super) messages: Vec<String>,
    /// Somebody told the run to stop.
    pub(super) is_stopping: bool,
    /// Somebody wants to leave once all has ended.
    pub(super) leaves: bool,
    pub(super) layout: Layout,
    /// Something has changed since it was drawn.
    pub(super) is_stale: bool,
}

/// What stands at the top.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) pipeline: Option<PipelineId>,
    /// The branch or tag.
    pub(super) reference: String,
    /// What started the pipeline.
    pub(super) source: String,
}

/// How the pipeline has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) status: Status,
}

/// A stage of one of the pipelines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stage {
    /// With the job that started its pipeline, if one did.
    pub(super) title: String,
    pub(super) jobs: Vec<usize>,
}

/// What the keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    Jobs,
    Log,
}

/// What the world is to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Play(JobId, Vec<JobVariable>),
    Retry(JobId),
    CancelJob(JobId),
    CancelAll,
    /// End everything at once.
    Abort,
    Shell(JobId),
    /// Go, now or when the pipeline has ended.
    Leave,
    /// Let the terminal to others until the program goes on.
    Suspend,
    CaptureMouse(bool),
    Redraw,
}

/// A job of any of the pipelines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JobId {
    pub(super) pipeline: PipelineId,
    pub(super) job: Arc<str>,
}

impl Model {
    pub(super) fn new(style: Style, verbose: bool, head: Head) -> Self {
        Self {
            style,
            verbose,
            head,
            lineage: Lineage::default(),
            board: Board::default(),
            jobs: Vec::new(),
            index: HashMap::new(),
            stages: Vec::new(),
            store: Store::default(),
            end: None,
            settled: None,
            chosen: 0,
            focus: Focus::Jobs,
            is_zoomed: false,
            details: None,
            help: None,
            messages_shown: None,
            filter: String::new(),
            search: None,
            goes: None,
            wraps: false,
            has_mouse: false,
            input: None,
            question: None,
            note: None,
            messages: Vec::new(),
            is_stopping: false,
            leaves: false,
            layout: Layout::default(),
            is_stale: true,
        }
    }

    /// Returns the chosen job.
    pub(super) fn job(&self) -> Option<&Job> {
        self.jobs.get(self.chosen)
    }

    fn job_mut(&mut self) -> Option<&mut Job> {
        self.jobs.get_mut(self.chosen)
    }

    /// Returns how many jobs are where.
    pub(super) fn counts(&self) -> Counts {
        self.board.counts()
    }

    /// Returns whether nothing goes on and nothing will by itself.
    pub(super) fn is_settled(&self) -> bool {
        let counts = self.counts();
        self.end.is_some() || (!self.jobs.is_empty() && counts.running == 0 && counts.waiting == 0)
    }

    /// Returns how long the pipeline has run, without the time in which it was only kept open.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        let begun = self.board.begun().unwrap_or(now);
        let end = self.settled.unwrap_or(now);
        end.saturating_duration_since(begun)
    }

    /// Returns whether somebody canceled jobs.
    pub(super) fn jobs_were_canceled(&self) -> bool {
        let mut jobs = self.board.jobs().iter();
        jobs.any(|job| job.status == Status::Canceled)
    }
}

#[cfg(test)]
pub(super) mod tests;
