use async_trait::async_trait;
use content_store::{LowerLayer, Tree};
use executor_core::Cancellation;
use executor_core::job::{Artifact, Dependency, JobId};
use job_runner::{ArtifactError, ArtifactFiles, ArtifactStore, SavedArtifact, StoredArtifacts};
use std::path::Path;
use std::sync::Arc;

/// The artifacts of a child pipeline, and read-only those of the pipelines above it.
#[derive(Debug)]
pub(crate) struct PipelineTreeArtifacts {
    pub(crate) own: StoredArtifacts,
    pub(crate) above: Vec<StoredArtifacts>,
}

impl PipelineTreeArtifacts {
    /// Returns where the artifacts of a job are. Jobs of a run have different ids.
    async fn place_of(&self, job: JobId) -> &StoredArtifacts {
        if self.own.contains(job).await {
            return &self.own;
        }
        for above in &self.above {
            if above.contains(job).await {
                return above;
            }
        }
        &self.own
    }
}

#[async_trait]
impl ArtifactStore for PipelineTreeArtifacts {
    async fn contains(&self, job: JobId) -> bool {
        self.place_of(job).await.contains(job).await
    }

    async fn lost(&self, job: JobId) -> bool {
        for place in std::iter::once(&self.own).chain(&self.above) {
            if place.lost(job).await {
                return true;
            }
        }
        false
    }

    async fn discard(&self, job: JobId) -> Result<(), ArtifactError> {
        self.own.discard(job).await
    }

    async fn save(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedArtifact, ArtifactError> {
        self.own.save(job, artifact, files, cancellation).await
    }

    async fn fetch(
        &self,
        dependency: &Dependency,
        project: &Path,
        cancellation: &Cancellation,
    ) -> Result<usize, ArtifactError> {
        let place = self.place_of(dependency.id).await;
        place.fetch(dependency, project, cancellation).await
    }

    async fn tree(&self, job: JobId) -> Result<Option<Arc<Tree>>, ArtifactError> {
        self.place_of(job).await.tree(job).await
    }

    async fn layer(
        &self,
        tree: &Arc<Tree>,
        cancellation: &Cancellation,
    ) -> Result<LowerLayer, ArtifactError> {
        // All share one content store.
        self.own.layer(tree, cancellation).await
    }
}
