//! Mounts that end with their job.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use fail_point::fail_point;

use crate::error::ProcessError;
use crate::overlay::{Layers, Overlays};
use crate::supervisor::Shared;
use crate::unmount::unmount;
use crate::user_namespace::can_mount;

/// An overlay on a directory, unmounted when this is dropped.
///
/// [`Supervisor::mount`](crate::Supervisor::mount) records it in the journal before it mounts it, so it also
/// ends if the runner dies.
#[derive(Debug)]
pub struct Mount {
    path: PathBuf,
    run: Weak<Shared>,
    mounted: bool,
}

impl Mount {
    pub(crate) fn create(
        overlays: Overlays,
        layers: &Layers<'_>,
        path: &Path,
        run: &Arc<Shared>,
    ) -> Result<Self, ProcessError> {
        let mut mount = Self::record(path, run)?;
        let mounted = fail_point!("process::mount::mount", overlays.mount(layers, &mount.path));
        match mounted {
            Ok(()) => {
                mount.mounted = true;
                Ok(mount)
            }
            Err(source) => {
                mount.forget()?;
                Err(refused(path, source))
            }
        }
    }

    /// Finds out how overlays can be mounted below `scratch`, an empty directory.
    pub(crate) fn probe(scratch: &Path, run: &Arc<Shared>) -> Result<Overlays, ProcessError> {
        if !can_mount() {
            return Err(refused(scratch, io::ErrorKind::PermissionDenied.into()));
        }
        let target = std::fs::canonicalize(scratch)
            .map_err(|source| refused(scratch, source))?
            .join("target");
        let mount = Self::record(&target, run)?;
        let scratch = target.parent().unwrap_or(scratch);
        let found = Overlays::probe(scratch, |path| unmount(path).map(drop));
        // A leftover mount of an attempt that cannot be unmounted now is unmounted after the run.
        if unmount(&target).is_ok() {
            mount.forget()?;
        }
        found.map_err(|source| refused(scratch, source))
    }

    fn record(path: &Path, run: &Arc<Shared>) -> Result<Self, ProcessError> {
        // Only a path without symbolic links is unmounted after a crash.
        let parent = path.parent().map(std::fs::canonicalize);
        let path = match (parent, path.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            (Some(Err(source)), _) => return Err(refused(path, source)),
            _ => return Err(refused(path, io::ErrorKind::InvalidInput.into())),
        };
        if let Some(journal) = run.journal() {
            journal.record_mount(&path)?;
        }
        Ok(Self {
            path,
            run: Arc::downgrade(run),
            mounted: false,
        })
    }

    /// Returns the mount point, without symbolic links in the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Unmounts it. The processes that use it should have ended: a mount that stays busy is detached.
    ///
    /// # Errors
    ///
    /// Fails if the system refuses, or the journal cannot be written.
    pub async fn unmount(mut self) -> Result<(), ProcessError> {
        let path = self.path.clone();
        let ended = tokio::task::spawn_blocking(move || self.end()).await;
        ended.unwrap_or_else(|error| {
            let source = io::Error::other(error);
            Err(ProcessError::Unmount { path, source })
        })
    }

    fn end(&mut self) -> Result<(), ProcessError> {
        self.mounted = false;
        let unmounted = self
            .refuse_if_moved()
            .and_then(|()| fail_point!("process::mount::unmount", unmount(&self.path).map(drop)));
        unmounted.map_err(|source| ProcessError::Unmount {
            path: self.path.clone(),
            source,
        })?;
        self.forget()
    }

    /// Checks that the path still has no symbolic links: a job can move the directories around its own, and
    /// a link could lead to files that are not the run's.
    fn refuse_if_moved(&self) -> io::Result<()> {
        let Some(parent) = self.path.parent() else {
            return Ok(());
        };
        match std::fs::canonicalize(parent) {
            Ok(real) if real == parent => Ok(()),
            Ok(_) => Err(io::Error::other("its path has a symbolic link now")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(io::Error::other("its parent directory was moved"))
            }
            Err(error) => Err(error),
        }
    }

    /// Removes the record of a mount that has ended.
    fn forget(&self) -> Result<(), ProcessError> {
        let run = self.run.upgrade();
        let journal = run.as_deref().and_then(Shared::journal);
        journal.map_or(Ok(()), |journal| journal.forget_mount(&self.path))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.mounted
            && let Err(error) = self.end()
        {
            let error = &error as &dyn Error;
            tracing::warn!(error, path = %self.path.display(), "A mount could not be removed.");
        }
    }
}

fn refused(path: &Path, source: io::Error) -> ProcessError {
    ProcessError::Overlay {
        path: path.to_owned(),
        source,
    }
}
