use executor_core::job::JobId;
use job_runner::LocalArtifactStore;
use pipeline::include::IncludeError;
use std::collections::HashMap;
use std::path::PathBuf;

/// What the jobs of a pipeline left, for the child pipelines that include it.
#[derive(Debug, Clone)]
pub struct PipelineArtifacts {
    store: LocalArtifactStore,
    jobs: HashMap<String, JobId>,
}

impl PipelineArtifacts {
    /// Returns the artifacts in a store, of these jobs by their names.
    pub fn new(store: LocalArtifactStore, jobs: impl IntoIterator<Item = (String, JobId)>) -> Self {
        Self {
            store,
            jobs: jobs.into_iter().collect(),
        }
    }

    /// Returns the directory with the artifacts of a job.
    pub(super) fn directory_of(&self, job: &str) -> Result<PathBuf, IncludeError> {
        let id = self.jobs.get(job);
        let directory = id.map(|&id| self.store.files_of(id, "archive"));
        let directory = directory.filter(|directory| directory.is_dir());
        directory.ok_or_else(IncludeError::no_artifacts)
    }
}
