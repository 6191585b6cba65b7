//! The state of the full screen: a pure function of events and keys.

mod events;
mod input;
mod keys;
mod log_view;
mod messages;
mod mouse;
mod pager;
mod selection;

pub(super) use input::{Input, Purpose};
pub(super) use log_view::LogLines;
pub(super) use messages::{Note, Question};
pub(super) use pager::Pager;

use super::layout::Layout;
use super::log::{JobLog, Search, Store};
use crate::model::{JobState, RunModel};
use crate::text::Style;
use executor_core::PipelineId;
use executor_core::variable::JobVariable;
use std::sync::Arc;

/// Everything that the full screen shows.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a choice of its own, and all combinations happen"
)]
pub(super) struct ScreenState {
    pub(super) style: Style,
    verbose: bool,
    pub(super) head: Head,
    pub(super) run: RunModel,
    /// The log of each job, in the order of the run.
    views: Vec<JobView>,
    store: Store,

    /// The selected job.
    pub(super) selected: usize,
    pub(super) focus: Focus,
    /// The log has the screen for itself.
    pub(super) is_zoomed: bool,
    /// Whether details of the job are shown; `None`: where there is room.
    pub(super) details: Option<bool>,
    /// The help is shown, from this line.
    pub(super) help: Option<u16>,
    /// The messages are shown, from this line.
    pub(super) messages_shown: Option<u16>,
    pub(super) filter: String,
    pub(super) search: Option<Search>,
    /// The search moves to a hit in this direction, from this row.
    pub(super) goes: Option<(super::log::Direction, u64)>,
    pub(super) wraps: bool,
    pub(super) has_mouse: bool,
    pub(super) input: Option<Input>,
    pub(super) question: Option<Question>,
    pub(super) note: Option<Note>,
    pub(super) messages: Vec<String>,
    /// The run was told to stop.
    pub(super) is_stopping: bool,
    /// The screen closes once all jobs have ended.
    pub(super) leaves: bool,
    pub(super) layout: Layout,
    /// Something has changed since it was drawn.
    pub(super) is_stale: bool,
}

/// The head line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The branch or tag.
    pub(super) reference: String,
    /// What started the pipeline.
    pub(super) source: String,
}

/// The log of a job, and how far it is scrolled.
#[derive(Debug)]
pub(super) struct JobView {
    pub(super) log: JobLog,
    pub(super) pager: Pager,
}

/// What the keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    Jobs,
    Log,
}

/// What the screen's thread has to do.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Play(JobId, Vec<JobVariable>),
    Retry(JobId),
    CancelJob(JobId),
    CancelAll,
    /// End everything at once.
    Abort,
    Shell(JobId),
    /// Close the screen, now or when the pipeline has ended.
    Leave,
    /// Stop the program until it is continued.
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

impl ScreenState {
    pub(super) fn new(style: Style, verbose: bool, head: Head) -> Self {
        Self {
            style,
            verbose,
            head,
            run: RunModel::default(),
            views: Vec::new(),
            store: Store::default(),
            selected: 0,
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

    /// Returns the selected job.
    pub(super) fn job(&self) -> Option<&JobState> {
        self.run.jobs().get(self.selected)
    }

    /// Returns the log of the selected job.
    pub(super) fn view(&self) -> Option<&JobView> {
        self.views.get(self.selected)
    }

    fn view_mut(&mut self) -> Option<&mut JobView> {
        self.views.get_mut(self.selected)
    }

    fn job_id(&self) -> Option<JobId> {
        self.job().map(|job| JobId {
            pipeline: job.pipeline,
            job: Arc::clone(&job.file_name),
        })
    }
}

#[cfg(test)]
pub(super) mod tests;
