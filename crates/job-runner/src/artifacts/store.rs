use super::error::ArtifactError;
use async_trait::async_trait;
use content_store::{LowerLayer, StoreError, Tree};
use executor_core::job::{Artifact, Dependency, JobId};
use executor_core::{Cancellation, RetainedArtifact};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keeps the artifacts of jobs and provides them to later jobs.
#[async_trait]
pub trait ArtifactStore: Send + Sync + Debug {
    /// Returns whether this job has an archive.
    async fn contains(&self, job: JobId) -> bool;

    /// Returns whether this job had an archive that expired or was removed.
    async fn lost(&self, _job: JobId) -> bool {
        false
    }

    /// Removes the artifacts of earlier attempts of this job: only the last attempt counts.
    ///
    /// # Errors
    ///
    /// When some of them remain.
    async fn discard(&self, job: JobId) -> Result<(), ArtifactError>;

    /// Saves files of a job, in place of an artifact of the same type, and returns the artifact.
    ///
    /// # Errors
    ///
    /// When they cannot be saved; none of them is then.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`ArtifactError::Stopped`] and saves nothing.
    async fn save(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedArtifact, ArtifactError>;

    /// Fetches the archive of an earlier job to `project` and returns the number of files.
    ///
    /// Nothing is written outside of `project`, whatever symbolic links are in it.
    ///
    /// # Errors
    ///
    /// When there is no archive or it cannot be unpacked.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`ArtifactError::Stopped`].
    async fn fetch(
        &self,
        dependency: &Dependency,
        project: &Path,
        cancellation: &Cancellation,
    ) -> Result<usize, ArtifactError>;

    /// Returns the tree of the archive of a job, if this store can also provide it as a layer.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    async fn tree(&self, _job: JobId) -> Result<Option<Arc<Tree>>, ArtifactError> {
        Ok(None)
    }

    /// Provides such a tree as a directory, for a lower layer of an overlay.
    ///
    /// # Errors
    ///
    /// When it cannot be created; the files can still be fetched.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`ArtifactError::Stopped`].
    async fn layer(
        &self,
        tree: &Arc<Tree>,
        _cancellation: &Cancellation,
    ) -> Result<LowerLayer, ArtifactError> {
        Err(ArtifactError::Content(StoreError::NoTree(tree.digest())))
    }
}

/// The result of [`ArtifactStore::save`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedArtifact {
    /// The saved artifact.
    pub kept: RetainedArtifact,
    /// Files that were removed before they were saved.
    pub vanished: Vec<PathBuf>,
}

/// Files to save, by their paths below the job's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFiles {
    /// The name of the archive without a suffix; variables are expanded, and secrets masked.
    pub name: String,
    /// The job's directory.
    pub project: PathBuf,
    /// Files, symbolic links and empty directories, relative to `project`.
    pub paths: Vec<PathBuf>,
}
