//! Directories that do not outlive their job.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::ProcessError;
use crate::remove::remove_tree;

/// A directory only its owner may enter, removed when this is dropped.
///
/// Made by [`Supervisor::temp_dir`](crate::Supervisor::temp_dir), which notes it
/// in the journal first, so it is also removed if the runner dies.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
    removed: bool,
}

impl TempDir {
    pub(crate) fn create(path: PathBuf) -> Result<Self, ProcessError> {
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => Ok(Self {
                path,
                removed: false,
            }),
            Err(source) => Err(ProcessError::TempDir { path, source }),
        }
    }

    /// Returns the directory's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with all it holds, links not followed.
    ///
    /// # Errors
    ///
    /// Fails if something in it cannot be removed; the directory then stays for
    /// [`recover`](crate::recover).
    pub async fn remove(mut self) -> Result<(), ProcessError> {
        self.removed = true;
        let path = self.path.clone();
        let result = tokio::task::spawn_blocking(move || remove_tree(&path)).await;
        result
            .map_err(io::Error::other)
            .flatten()
            .map_err(|source| ProcessError::TempDir {
                path: self.path.clone(),
                source,
            })
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        if let Err(error) = remove_tree(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "A temporary directory is left.");
        }
    }
}
