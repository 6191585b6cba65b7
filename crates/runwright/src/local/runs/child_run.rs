//! The run of a child pipeline.

use super::continuation::ContinuationKind;
use super::earlier::Earlier;
use super::error::RunsError;
use super::history::JobHistory;
use super::journal::Journal;
use super::past_run::logs_of_life;
use super::record::{RunCommand, RunRecord};
use super::runs::forget_told;
use crate::local::error::LocalError;
use crate::local::state::{PipelineDir, ProjectState};
use executor_core::{JobId, JobProducts};
use pipeline::event::{EventSink, ParentJob};
use pipeline::scheduler::Progress;
use pipeline::{Plan, Selection};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The run of a child pipeline: a number, a directory and a journal of its own. It counts as living
/// until it is dropped.
#[derive(Debug)]
pub(in crate::local) struct ChildRun {
    directory: PipelineDir,
    parent: ParentJob,
    earlier: Option<Earlier>,
}

impl ChildRun {
    /// Makes a new one.
    pub(in crate::local) fn new(
        state: &ProjectState,
        parent: ParentJob,
    ) -> Result<Self, LocalError> {
        Ok(Self {
            directory: state.new_pipeline()?,
            parent,
            earlier: None,
        })
    }

    /// Opens the one that the job started in an earlier life of its pipeline, to go on with it; a new
    /// one, when it started none that is still there.
    pub(in crate::local) fn again(
        state: &ProjectState,
        parent: ParentJob,
        kind: &ContinuationKind,
    ) -> Result<Self, LocalError> {
        let runs = state.runs();
        let Some(run) = runs.child_of(&parent)? else {
            return Self::new(state, parent);
        };
        let directory = state.reopen_pipeline(run.id())?;
        Ok(Self {
            earlier: Some(Earlier::read(&run, kind)?),
            directory,
            parent,
        })
    }

    /// Returns its number.
    pub(in crate::local) fn id(&self) -> u64 {
        self.directory.id
    }

    /// Returns its directory.
    pub(in crate::local) fn directory(&self) -> &Path {
        &self.directory.path
    }

    /// Returns where its jobs write their logs.
    pub(in crate::local) fn logs(&self) -> PathBuf {
        let directory = &self.directory.path;
        let life = self
            .earlier
            .as_ref()
            .map_or(1, |it| it.next_life(directory));
        logs_of_life(directory, life)
    }

    /// Returns the ids that its jobs had in an earlier life, for [`Plan::keep_ids`].
    pub(in crate::local) fn ids(&self) -> Option<HashMap<String, JobId>> {
        self.earlier.as_ref().map(Earlier::ids)
    }

    /// Returns how far it came in an earlier life.
    pub(in crate::local) fn progress(
        &self,
        products: impl Fn(&JobHistory) -> JobProducts,
    ) -> Progress {
        let earlier = self.earlier.as_ref();
        earlier.map_or_else(Progress::default, |it| it.progress(products))
    }

    /// Writes down what is asked for, before anything starts, and returns what takes its events.
    /// `project` and `file` say where its jobs are written.
    pub(in crate::local) fn begin(
        &self,
        plan: &Plan,
        project: &Path,
        file: &Path,
        executor: &str,
        next: Arc<dyn EventSink>,
    ) -> Result<Arc<Journal>, RunsError> {
        let directory = &self.directory.path;
        if self.earlier.is_some() {
            forget_told(directory);
        } else {
            let selection = Selection::default();
            let command = RunCommand::default();
            let mut record = RunRecord::new(plan, project, file, &selection, executor, &command);
            record.parent = Some(self.parent.clone());
            record.write(directory)?;
        }
        let kind = self.earlier.as_ref().map(|earlier| &earlier.kind);
        Ok(Arc::new(Journal::begin(directory, plan, kind, next)?))
    }
}
