use super::error::ArtifactError;
use async_trait::async_trait;
use content_store::{LowerLayer, StoreError, Tree};
use executor_core::job::{Artifact, Dependency, JobId};
use executor_core::{Cancellation, RetainedArtifact};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keeps the artifacts of jobs and hands them to later ones.
#[async_trait]
pub trait ArtifactStore: Send + Sync + Debug {
    /// Returns whether there is an archive of this job to fetch.
    async fn contains(&self, job: JobId) -> bool;

    /// Returns whether this job left an archive that is there no more: its time was up, or somebody
    /// removed it.
    async fn lost(&self, _job: JobId) -> bool {
        false
    }

    /// Forgets all that earlier attempts of this job left: the last attempt alone counts.
    ///
    /// # Errors
    ///
    /// When something of it stays.
    async fn discard(&self, job: JobId) -> Result<(), ArtifactError>;

    /// Keeps files of a job, in the place of those an earlier attempt left under the same type, and
    /// returns what is kept.
    ///
    /// # Errors
    ///
    /// When they cannot be kept; nothing of them is then.
    ///
    /// # Cancellation
    ///
    /// Stops soon with [`ArtifactError::Stopped`] and keeps nothing.
    async fn save(
        &self,
        job: JobId,
        artifact: &Artifact,
        files: ArtifactFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedArtifact, ArtifactError>;

    /// Puts the archive of an earlier job below `project` and returns how many files it had.
    ///
    /// Nothing is written outside of `project`, whatever symbolic links lie in it.
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

    /// Returns what the archive of a job holds, if this store can show it as a layer too.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    async fn tree(&self, _job: JobId) -> Result<Option<Arc<Tree>>, ArtifactError> {
        Ok(None)
    }

    /// Shows such a tree as a directory, for the lower side of an overlay.
    ///
    /// # Errors
    ///
    /// When it cannot be made here; the files can be fetched then.
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

/// What became of the files of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedArtifact {
    /// What is kept.
    pub kept: RetainedArtifact,
    /// Files that were not there any more when it was their turn.
    pub vanished: Vec<PathBuf>,
}

/// Files to keep, by their paths below the job's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFiles {
    /// The name their archive is to have, without an ending; variables are expanded.
    pub name: String,
    /// The job's directory.
    pub project: PathBuf,
    /// Files, symbolic links and empty directories, relative to it.
    pub paths: Vec<PathBuf>,
}
