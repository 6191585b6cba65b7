//! How a run starts: as a new one, as the continuation of an earlier one, or to enter one job.

use crate::error::LocalError;
use crate::history::state::{PipelineDir, StateDir};
use crate::history::{ContinuedRun, DownstreamRuns};
use crate::project::local_project::LocalProject;
use crate::run::session::EarlierArtifacts;
use job_runner::{JobNote, JobNotes};
use pipeline::Plan;
use pipeline::plan::PlannedJob;
use std::path::PathBuf;
use std::sync::Arc;

/// How a run starts.
#[derive(Debug)]
pub(super) enum Start {
    /// In a directory of its own.
    New,
    /// In the directory of the earlier run that it continues.
    Continued(Box<ContinuedStart>),
    /// With one job for the user to enter; its directory is removed at the end.
    Session(EarlierArtifacts),
}

/// The run that is continued.
#[derive(Debug)]
pub(super) struct ContinuedStart {
    pub(super) run: ContinuedRun,
    /// Which attempt this is, from 2.
    pub(super) attempt: u32,
    /// The pipelines that its jobs started.
    pub(super) downstream: Arc<DownstreamRuns>,
    /// What differs from the earlier run, a line each.
    pub(super) notes: Vec<String>,
    /// Jobs that may still run, since they outlive the process that started them.
    pub(super) resumable: Vec<JobNote>,
    /// The jobs that this run resumes, and those that had ended, whose results it takes over.
    pub(super) resumed: Vec<JobNote>,
    /// Directories that those need, to be removed at the end.
    pub(super) leftovers: Vec<PathBuf>,
}

impl Start {
    /// Returns which attempt of the run this is, from 1.
    pub(super) fn attempt(&self) -> u32 {
        match self {
            Self::New | Self::Session(_) => 1,
            Self::Continued(continued) => continued.attempt,
        }
    }

    /// Returns the run that is continued.
    pub(super) fn continued(&self) -> Option<&ContinuedStart> {
        match self {
            Self::New | Self::Session(_) => None,
            Self::Continued(continued) => Some(continued),
        }
    }
}

impl ContinuedStart {
    pub(super) fn new(
        mut earlier: ContinuedRun,
        state: &StateDir,
        project: &LocalProject,
        directory: &PipelineDir,
        plan: &Plan,
        leftovers: Vec<PathBuf>,
    ) -> Result<Self, LocalError> {
        let mut downstream = DownstreamRuns::default();
        if plan.jobs().iter().any(PlannedJob::is_bridge) {
            downstream = DownstreamRuns::read(state);
            let kind = earlier.kind.of_children();
            earlier.find_unfinished(&downstream, project.root(), directory.id, &kind);
        }
        earlier.check(directory.id, plan)?;
        let mut notes = running_jobs(directory).read();
        notes.retain(|note| earlier.can_resume(note, plan));
        let (resumed, resumable) = notes.into_iter().partition(|it| it.final_state().is_some());
        Ok(Self {
            attempt: earlier.next_attempt(&directory.path),
            notes: earlier.changes(plan),
            run: earlier,
            downstream: Arc::new(downstream),
            resumable,
            resumed,
            leftovers,
        })
    }
}

/// Returns the records of the jobs of a run that are running.
pub(super) fn running_jobs(directory: &PipelineDir) -> JobNotes {
    JobNotes::at(directory.path.join(RUNNING))
}

/// Returns the records of the results of a child pipeline's jobs, which are never resumed.
pub(crate) fn job_results(directory: &PipelineDir) -> JobNotes {
    JobNotes::of_results(directory.path.join(RUNNING))
}

/// The directory of the records in that of a run.
pub(crate) const RUNNING: &str = "running";
