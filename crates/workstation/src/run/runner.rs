//! Who runs the jobs of one pipeline of a run.

use crate::history::logs_of_life;
use crate::history::state::ProjectState;
use crate::reuse::{ProjectReuse, ReuseRunner};
use crate::run::children::FamilyArtifacts;
use crate::run::environments::EnvironmentRunner;
use executor_core::JobRunner;
use job_runner::{
    ArtifactStore, BuildRunner, BuildRunnerOptions, CacheStore, JobNote, JobNotes, Sources,
    StoredArtifacts, Terminals, Visitor, WatchChanges,
};
use process::Supervisor;
use std::path::Path;
use std::sync::Arc;

/// What the jobs of one pipeline of a run are run with.
pub(crate) struct RunnerParts<'a> {
    /// Whether nothing is written down of environments, because nothing is deployed.
    pub(crate) is_session: bool,
    /// Where their files come from.
    pub(crate) sources: &'a Sources,
    /// The directory of the pipeline.
    pub(crate) directory: &'a Path,
    /// For the how manieth time it is begun.
    pub(crate) life: u32,
    /// What starts processes.
    pub(crate) supervisor: &'a Supervisor,
    /// The state of its project.
    pub(crate) state: &'a ProjectState,
    /// What the jobs of the pipelines above it left, for a child pipeline.
    pub(crate) above: &'a [StoredArtifacts],
    /// Where its jobs keep caches.
    pub(crate) caches: Option<Arc<dyn CacheStore>>,
    /// What is known to take its jobs from earlier runs, if they are.
    pub(crate) reuse: Option<Arc<ProjectReuse>>,
    /// Who enters its jobs.
    pub(crate) visitor: Option<Arc<dyn Visitor>>,
    /// Where its jobs are listed that shells can be opened in.
    pub(crate) terminals: &'a Terminals,
    /// Who asks for a warning about tracked files.
    pub(crate) watch_changes: Option<WatchChanges>,
    /// Where its running jobs are noted, so that somebody can go on with them.
    pub(crate) notes: Option<JobNotes>,
    /// The jobs that are gone on with.
    pub(crate) left: Vec<JobNote>,
}

/// Returns who runs the jobs of one pipeline of a run.
pub(crate) fn runner_of(parts: &RunnerParts<'_>) -> Arc<dyn JobRunner> {
    let directory = parts.directory;
    let own = parts.state.kept_files().of_run(directory);
    let artifacts: Arc<dyn ArtifactStore> = if parts.above.is_empty() {
        Arc::new(own.clone())
    } else {
        Arc::new(FamilyArtifacts {
            own: own.clone(),
            above: parts.above.to_vec(),
        })
    };
    let logs = logs_of_life(directory, parts.life);
    let runner = BuildRunner::new(
        BuildRunnerOptions {
            sources: parts.sources.clone(),
            artifacts: Some(Arc::clone(&artifacts)),
            caches: parts.caches.clone(),
            spool_dir: Some(logs.clone()),
            // Whoever reads the log here folds nothing, so the markers would only be in the way.
            sections: false,
            visitor: parts.visitor.clone(),
            terminals: parts.terminals.clone(),
            watch_changes: parts.watch_changes.clone(),
            notes: parts.notes.clone().filter(|_| !parts.is_session),
            resumed: parts.left.clone(),
            ..BuildRunnerOptions::default()
        },
        parts.supervisor.clone(),
    );
    if parts.is_session {
        return Arc::new(runner);
    }
    let mut runner: Arc<dyn JobRunner> = Arc::new(runner);
    if let Some(reuse) = &parts.reuse {
        runner = Arc::new(ReuseRunner {
            inner: runner,
            reuse: Arc::clone(reuse),
            sources: parts.sources.clone(),
            own,
            artifacts,
            logs,
            visitor: parts.visitor.clone(),
            left: parts.left.iter().map(|note| note.job).collect(),
        });
    }
    Arc::new(EnvironmentRunner {
        inner: runner,
        environments: parts.state.environments(),
    })
}
