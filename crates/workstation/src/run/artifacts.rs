use content_store::LowerLayer;
use executor_core::Cancellation;
use executor_core::job::JobId;
use job_runner::{ArtifactError, StoredArtifact, StoredArtifacts};
use pipeline::include::IncludeError;
use std::collections::HashMap;

/// The artifacts of a pipeline, for child pipelines that include files from them.
#[derive(Debug, Clone)]
pub struct PipelineArtifacts {
    artifacts: StoredArtifacts,
    jobs: HashMap<String, JobId>,
}

impl PipelineArtifacts {
    /// Returns the artifacts of these jobs, by name.
    pub fn new(
        artifacts: StoredArtifacts,
        jobs: impl IntoIterator<Item = (String, JobId)>,
    ) -> Self {
        Self {
            artifacts,
            jobs: jobs.into_iter().collect(),
        }
    }

    /// Shows the artifacts of a job as a directory until the result is dropped.
    pub(crate) fn directory_of(&self, job: &str) -> Result<LowerLayer, IncludeError> {
        let id = self.jobs.get(job).ok_or_else(IncludeError::no_artifacts)?;
        let unreadable = |error: ArtifactError| IncludeError::Unreadable(error.to_string());
        let found = self.artifacts.of_type(*id, StoredArtifact::ARCHIVE);
        let archive = found
            .map_err(unreadable)?
            .ok_or_else(IncludeError::no_artifacts)?;
        // Creating a child pipeline has no cancellation of its own.
        let never = Cancellation::new();
        let shown = self.artifacts.show(&archive, &never);
        shown.map_err(unreadable)
    }
}
