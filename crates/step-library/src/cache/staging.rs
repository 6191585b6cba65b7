use super::lease::{Lease, note};
use process::{make_private_dir, remove_tree};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A directory that is being filled, and that nobody sees before it is published.
///
/// It goes with this, and if this program is killed, with the next sweep.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    target: PathBuf,
    used: PathBuf,
    /// Keeps others from filling the same.
    _lock: File,
}

impl Staging {
    pub(super) fn make(
        path: PathBuf,
        target: PathBuf,
        used: PathBuf,
        lock: File,
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

    /// Makes the directory one of the cache, of so many bytes.
    pub(crate) fn publish(self, bytes: u64) -> io::Result<Lease> {
        // First the note: what has none is never removed for its size.
        note(&self.used, Some(bytes))?;
        fs::rename(&self.path, &self.target)?;
        let lease = Lease::take(&self.target, &self.used)?;
        // Nobody removes it meanwhile, as this has the lock.
        lease.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "A directory is left to the next sweep.");
        }
    }
}

/// Removes a directory that may be there.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match remove_tree(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
