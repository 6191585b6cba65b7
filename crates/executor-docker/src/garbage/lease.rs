//! Locks on the names of images and volumes: shared while a job uses them, exclusive during a removal.
//!
//! The kernel releases the locks of a dead process.

use process::{FileLock, LockKind};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is tried during a removal.
const PAUSE: Duration = Duration::from_millis(10);

/// Protects an object from removal until it is dropped or its process ends.
#[derive(Debug)]
pub(super) struct Lease {
    _lock: FileLock,
}

/// The right to remove an object: there is no lease of it, and none is granted meanwhile.
#[derive(Debug)]
pub(super) struct RemovalClaim {
    path: PathBuf,
    _lock: FileLock,
}

impl Lease {
    /// Takes a lease; waits for a removal in progress.
    pub(super) async fn take(path: &Path) -> io::Result<Self> {
        loop {
            match FileLock::if_free(open(path)?, LockKind::Shared)? {
                Some(lock) if lock.is_file(fs::metadata(path))? => return Ok(Self { _lock: lock }),
                // The removal has removed the file too.
                Some(_) => {}
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}

impl RemovalClaim {
    /// Takes the claim; `None` when there is a lease or another claim.
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        let Some(lock) = FileLock::if_free(open(path)?, LockKind::Exclusive)? else {
            return Ok(None);
        };
        let claim = |lock| Self {
            path: path.to_owned(),
            _lock: lock,
        };
        Ok(lock.is_file(fs::metadata(path))?.then(|| claim(lock)))
    }
}

impl Drop for RemovalClaim {
    fn drop(&mut self) {
        // The lock is still held. A remaining file is empty and reused.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

/// Returns whether there is a lease.
pub(super) fn is_held(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(FileLock::if_free(file, LockKind::Exclusive)?.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[tokio::test]
    async fn leases_and_claims_exclude_each_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("thing");
        let (one, two) = (
            Lease::take(&path).await.unwrap(),
            Lease::take(&path).await.unwrap(),
        );
        assert!(RemovalClaim::take(&path).unwrap().is_none());
        drop(one);
        assert!(RemovalClaim::take(&path).unwrap().is_none());
        drop(two);
        let claim = RemovalClaim::take(&path).unwrap().unwrap();
        assert!(RemovalClaim::take(&path).unwrap().is_none());
        let mut waits = pin!(Lease::take(&path));
        tokio::select! {
            biased;
            _ = &mut waits => panic!("the object is being removed"),
            () = std::future::ready(()) => {}
        }
        drop(claim);
        // The path now leads to a new file, which is locked.
        let lease = waits.await.unwrap();
        assert!(RemovalClaim::take(&path).unwrap().is_none());
        drop(lease);
        assert!(RemovalClaim::take(&path).unwrap().is_some());
        assert!(!path.exists());
    }
}
