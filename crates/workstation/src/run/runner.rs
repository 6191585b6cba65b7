//! The runner of the jobs of one pipeline of a run.

use super::reserved_run::RunShared;
use crate::history::logs_of_attempt;
use crate::history::state::ProjectState;
use crate::reuse::ReuseRunner;
use crate::run::RunOptions;
use crate::run::children::PipelineTreeArtifacts;
use crate::run::environments::EnvironmentRunner;
use executor_core::JobRunner;
use job_runner::{
    ArtifactStore, BuildRunner, BuildRunnerOptions, CacheStore, HelperOptions, JobNote, JobNotes,
    Sources, StoredArtifacts,
};
use std::path::Path;
use std::sync::Arc;

/// What the jobs of one pipeline of a run are run with.
pub(crate) struct RunnerParts<'a> {
    pub(crate) run: &'a RunShared,
    /// Whether a user enters a job; such a run records and reuses nothing.
    pub(crate) is_session: bool,
    pub(crate) sources: &'a Sources,
    /// The directory of the pipeline.
    pub(crate) directory: &'a Path,
    /// Which attempt of the run this is, from 1.
    pub(crate) attempt: u32,
    /// The state of the pipeline's project.
    pub(crate) state: &'a ProjectState,
    /// The artifacts of the pipelines above a child pipeline, or those that a session found.
    pub(crate) above: &'a [StoredArtifacts],
    pub(crate) caches: Option<Arc<dyn CacheStore>>,
    /// Where running jobs are recorded, so that a later run can resume them.
    pub(crate) notes: Option<JobNotes>,
    /// The jobs that are resumed.
    pub(crate) resumed: Vec<JobNote>,
}

/// Returns the runner of the jobs of one pipeline of a run.
pub(crate) fn runner_of(parts: &RunnerParts<'_>) -> Arc<dyn JobRunner> {
    let options = &parts.run.options;
    let own = parts.state.kept_files().of_run(parts.directory);
    let artifacts: Arc<dyn ArtifactStore> = if parts.above.is_empty() {
        Arc::new(own.clone())
    } else {
        Arc::new(PipelineTreeArtifacts {
            own: own.clone(),
            above: parts.above.to_vec(),
        })
    };
    let logs = logs_of_attempt(parts.directory, parts.attempt);
    let runner = BuildRunner::new(
        BuildRunnerOptions {
            sources: parts.sources.clone(),
            artifacts: Some(Arc::clone(&artifacts)),
            caches: parts.caches.clone(),
            helper: helper(options),
            spool_dir: Some(logs.clone()),
            // Nothing here folds sections, so their markers would only be noise in the log.
            sections: false,
            visitor: options.visitor.clone(),
            reachable_jobs: options.reachable_jobs.clone(),
            watch_changes: options.watch_changes.clone(),
            notes: parts.notes.clone().filter(|_| !parts.is_session),
            resumed: parts.resumed.clone(),
            ..BuildRunnerOptions::default()
        },
        parts.run.supervisor.clone(),
    );
    if parts.is_session {
        return Arc::new(runner);
    }
    let mut runner: Arc<dyn JobRunner> = Arc::new(runner);
    let reuse = parts.run.reuse.as_ref();
    if let Some(reuse) = reuse.filter(|reuse| reuse.is_of(parts.state.root())) {
        runner = Arc::new(ReuseRunner {
            inner: runner,
            reuse: Arc::clone(reuse),
            sources: parts.sources.clone(),
            own,
            artifacts,
            logs,
            visitor: options.visitor.clone(),
            resumed: parts.resumed.iter().map(|note| note.job).collect(),
        });
    }
    Arc::new(EnvironmentRunner {
        inner: runner,
        environments: parts.state.environments(),
    })
}

fn helper(options: &RunOptions) -> HelperOptions {
    let defaults = HelperOptions::default();
    HelperOptions {
        program: options.helper_program.clone(),
        address: options.helper_address.unwrap_or(defaults.address),
        ..defaults
    }
}
