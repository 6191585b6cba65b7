use super::lease::{Lease, record_use};
use process::{FileLock, make_private_dir, remove_tree};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A directory that is being filled, and is invisible until it is published.
///
/// It is removed on drop, or by the next sweep if this program is killed.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    target: PathBuf,
    used: PathBuf,
    /// Keeps other programs from filling the same directory.
    _lock: FileLock,
}

impl Staging {
    pub(super) fn create(
        path: PathBuf,
        target: PathBuf,
        used: PathBuf,
        lock: FileLock,
    ) -> io::Result<Self> {
        remove(&path)?;
        make_private_dir(&path)?;
        Ok(Self {
            path,
            target,
            used,
            _lock: lock,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Publishes the directory in the cache, with its size.
    pub(crate) fn publish(self, bytes: u64) -> io::Result<Lease> {
        // First the record: a directory without one is never removed for its size.
        record_use(&self.used, Some(bytes))?;
        fs::rename(&self.path, &self.target)?;
        let lease = Lease::take(&self.target, &self.used)?;
        // This holds the lock, so no program removes it meanwhile.
        lease.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "A directory remains until the next sweep.");
        }
    }
}

/// Removes a directory, if it exists.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match remove_tree(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
