//! Directories that are removed with their job.

use std::error::Error;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use fail_point::fail_point;

use crate::error::ProcessError;
use crate::remove::remove_tree_off_thread;
use crate::supervisor::Shared;
use crate::unmount::remove_job_tree;

/// A directory that only its owner may enter, removed when this is dropped.
///
/// [`Supervisor::temp_dir`](crate::Supervisor::temp_dir) records it in the journal before it creates it, so it
/// is also removed if the runner dies.
#[derive(Debug)]
pub struct TempDir {
    path: PathBuf,
    /// The run, with the journal that has the record. After the run, its guardian removes the directory.
    run: Weak<Shared>,
    removed: bool,
}

impl TempDir {
    pub(crate) fn create(path: PathBuf, run: &Arc<Shared>) -> Result<Self, ProcessError> {
        if let Some(journal) = run.journal() {
            journal.record_dir(&path)?;
        }
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        let created = fail_point!("process::temp_dir::make", builder.create(&path));
        let directory = Self {
            path,
            run: Arc::downgrade(run),
            removed: created.is_err(),
        };
        match created {
            Ok(()) => Ok(directory),
            Err(source) => {
                directory.forget()?;
                let path = directory.path.clone();
                Err(ProcessError::TempDir { path, source })
            }
        }
    }

    /// Removes the record of a directory that no longer exists.
    fn forget(&self) -> Result<(), ProcessError> {
        let run = self.run.upgrade();
        let journal = run.as_deref().and_then(Shared::journal);
        journal.map_or(Ok(()), |journal| journal.forget_dir(&self.path))
    }

    /// Returns the directory's absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory with all its content, without following links.
    ///
    /// # Errors
    ///
    /// Fails if something in it cannot be removed; the directory then stays for
    /// [`recover`](crate::recover). Fails if the journal cannot be written.
    pub async fn remove(mut self) -> Result<(), ProcessError> {
        self.removed = true;
        let removed = fail_point!("process::temp_dir::remove", self.remove_off_thread().await);
        removed.map_err(|source| ProcessError::TempDir {
            path: self.path.clone(),
            source,
        })?;
        self.forget()
    }
}

impl TempDir {
    async fn remove_off_thread(&self) -> io::Result<()> {
        match remove_tree_off_thread(&self.path).await {
            // A job left a mount in it: rare, so a blocked thread does no harm.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                remove_job_tree(&self.path)
            }
            removed => removed,
        }
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        if self.removed {
            return;
        }
        let removed = remove_job_tree(&self.path).map_err(|source| ProcessError::TempDir {
            path: self.path.clone(),
            source,
        });
        if let Err(error) = removed.and_then(|()| self.forget()) {
            let error = &error as &dyn Error;
            tracing::warn!(error, path = %self.path.display(), "A temporary directory could not be removed.");
        }
    }
}
