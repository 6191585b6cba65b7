//! The runs that jobs of other runs started, also in other projects.

use super::continuation::ContinuationKind;
use super::run::Run;
use crate::history::state::StateDir;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The last run that each job started.
#[derive(Debug, Clone, Default)]
pub(crate) struct DownstreamRuns {
    runs: HashMap<ParentOfRun, Run>,
}

/// The job that started a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ParentOfRun {
    pub(crate) project: PathBuf,
    pub(crate) run: u64,
    pub(crate) job: String,
}

impl DownstreamRuns {
    /// Reads the records of all projects; unreadable ones are left out.
    pub(crate) fn read(state: &StateDir) -> Self {
        let mut known: HashMap<ParentOfRun, Run> = HashMap::new();
        let projects = state.all_runs().unwrap_or_default();
        let runs = projects.iter().filter_map(|runs| runs.list().ok());
        for run in runs.flatten() {
            let Some(parent) = parent_of(&run) else {
                continue;
            };
            if known.get(&parent).map_or(0, Run::id) < run.id() {
                known.insert(parent, run);
            }
        }
        Self { runs: known }
    }

    /// Returns the last run in `project` that a job started, if it still exists.
    pub(crate) fn started_by(&self, project: &Path, parent: &ParentOfRun) -> Option<&Run> {
        let run = self.runs.get(parent);
        run.filter(|run| run.record().project == project)
    }

    /// Returns the highest number of these runs, in any project.
    pub(crate) fn highest(&self) -> u64 {
        self.runs.values().map(Run::id).max().unwrap_or(0)
    }

    /// Returns the jobs of a run whose downstream runs, at any depth, have jobs to run.
    pub(crate) fn unfinished(
        &self,
        project: &Path,
        run: u64,
        kind: &ContinuationKind,
    ) -> HashSet<String> {
        let runs = self.runs.iter();
        let started = runs.filter(|(parent, _)| parent.project == project && parent.run == run);
        let unfinished = started.filter(|(_, run)| self.has_jobs_to_run(run, kind));
        unfinished.map(|(parent, _)| parent.job.clone()).collect()
    }

    fn has_jobs_to_run(&self, run: &Run, kind: &ContinuationKind) -> bool {
        // An unreadable run cannot be continued.
        let Ok(history) = run.history() else {
            return false;
        };
        let kind_of_run = kind.of_pipeline(run.id());
        let played = match &kind_of_run {
            ContinuationKind::Play(jobs) => jobs.as_slice(),
            _ => &[],
        };
        let mut jobs = history.planned();
        history.end.is_none()
            || jobs.any(|job| {
                history.would_run(job, &kind_of_run, false) || played.contains(&job.name)
            })
            // A child's number is higher than its parent's, so this ends.
            || !self.unfinished(&run.record().project, run.id(), kind).is_empty()
    }
}

fn parent_of(run: &Run) -> Option<ParentOfRun> {
    let record = run.record();
    let parent = record.parent.as_ref()?;
    let project = match (&record.above, &parent.project) {
        (Some(above), _) => above,
        (None, None) => &record.project,
        // An earlier version did not record which project.
        (None, Some(_)) => return None,
    };
    let is_older = parent.pipeline.0 < run.id();
    is_older.then(|| ParentOfRun {
        project: project.clone(),
        run: parent.pipeline.0,
        job: parent.job.to_string(),
    })
}
