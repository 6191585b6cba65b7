//! Which runs were started by jobs of others, also in other projects.

use super::continuation::ContinuationKind;
use super::earlier::would_run;
use super::past_run::Run;
use crate::history::state::StateDir;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The runs that jobs of others started, the last one of each job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    children: HashMap<Parent, Run>,
}

/// The job that started a run: its project, its run, its name.
type Parent = (PathBuf, u64, String);

impl Family {
    /// Reads the records of all projects; one that cannot be read is passed over.
    pub(crate) fn read(state: &StateDir) -> Self {
        let mut children: HashMap<Parent, Run> = HashMap::new();
        let projects = state.all_runs().unwrap_or_default();
        for run in projects
            .iter()
            .filter_map(|runs| runs.list().ok())
            .flatten()
        {
            let Some(parent) = parent_of(&run) else {
                continue;
            };
            let known = children.get(&parent).map_or(0, Run::id);
            if known < run.id() {
                children.insert(parent, run);
            }
        }
        Self { children }
    }

    /// Returns the run in `project` that a job of a run in `above` started last, if it is still there.
    pub(crate) fn child(
        &self,
        project: &Path,
        (above, run, job): (&Path, u64, &str),
    ) -> Option<&Run> {
        let parent = (above.to_owned(), run, job.to_owned());
        let child = self.children.get(&parent);
        child.filter(|child| child.record().project == project)
    }

    /// Returns the highest number that a run which others started has, in any project.
    pub(crate) fn highest(&self) -> u64 {
        self.children.values().map(Run::id).max().unwrap_or(0)
    }

    /// Returns the jobs of a run whose own runs have something to do, or those that these started.
    pub(crate) fn unfinished(
        &self,
        project: &Path,
        run: u64,
        kind: &ContinuationKind,
    ) -> HashSet<String> {
        let children = self.children.iter();
        let own = children.filter(|((above, id, _), _)| above == project && *id == run);
        let unfinished = own.filter(|(_, child)| self.has_to_do(child, kind));
        unfinished.map(|((_, _, job), _)| job.clone()).collect()
    }

    fn has_to_do(&self, run: &Run, kind: &ContinuationKind) -> bool {
        // Nobody can go on with what cannot be read.
        let Ok(history) = run.history() else {
            return false;
        };
        let own = kind.of_pipeline(run.id());
        let is_played = |job: &str| matches!(&own, ContinuationKind::Play(jobs) if jobs.iter().any(|it| it == job));
        let mut jobs = history.planned();
        history.end.is_none()
            || jobs.any(|job| would_run(&own, &history, job, false))
            || history.planned().any(|job| is_played(&job.name))
            // A child is younger than its parent, so this ends.
            || !self.unfinished(&run.record().project, run.id(), kind).is_empty()
    }
}

fn parent_of(run: &Run) -> Option<Parent> {
    let record = run.record();
    let parent = record.parent.as_ref()?;
    let above = match (&record.above, &parent.project) {
        (Some(above), _) => above,
        (None, None) => &record.project,
        // An earlier version did not say which project.
        (None, Some(_)) => return None,
    };
    let is_older = parent.pipeline.0 < run.id();
    is_older.then(|| (above.clone(), parent.pipeline.0, parent.job.to_string()))
}
