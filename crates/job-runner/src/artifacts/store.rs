use async_trait::async_trait;
use executor_core::Cancellation;
use executor_core::job::{Artifact, Dependency, JobId};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

/// Keeps the artifacts of jobs and hands them to later ones.
#[async_trait]
pub trait ArtifactStore: Send + Sync + Debug {
    /// Returns whether there is an archive of this job to fetch.
    async fn contains(&self, job: JobId) -> bool;

    /// Forgets all that earlier attempts of this job left: the last attempt alone counts.
    ///
    /// # Errors
    ///
    /// When something of it stays.
    async fn discard(&self, job: JobId) -> Result<(), ArtifactError>;

    /// Keeps files of a job, in the place of those an earlier attempt left under the same type.
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
    ) -> Result<(), ArtifactError>;

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
}

/// Files to keep, by their paths below the job's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFiles {
    /// The job's directory.
    pub project: PathBuf,
    /// Files, symbolic links and empty directories, relative to it.
    pub paths: Vec<PathBuf>,
}

impl ArtifactFiles {
    /// Returns how many bytes the files have together, as far as they are there.
    pub fn bytes(&self) -> u64 {
        let sizes = self.paths.iter().filter_map(|path| {
            let metadata = self.project.join(path).symlink_metadata().ok()?;
            metadata.is_file().then(|| metadata.len())
        });
        sizes.sum()
    }
}

/// Why artifacts could not be kept or fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArtifactError {
    /// A file could not be read or written.
    #[error("copy artifact {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A symbolic link in the job's directory would lead an artifact somewhere else.
    #[error("artifact {} would go through a symbolic link", path.display())]
    ThroughLink {
        /// The artifact.
        path: PathBuf,
    },
    /// The job was stopped.
    #[error("stopped")]
    Stopped,
    /// Another store's own trouble.
    #[error("{message}")]
    Other {
        /// What was attempted.
        message: String,
        /// The cause.
        #[source]
        source: Option<executor_core::BoxError>,
    },
}
