//! Locks on the names of images and volumes: shared while a job uses them, exclusive during a removal.
//!
//! The kernel releases the locks of a dead process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is tried during a removal.
const PAUSE: Duration = Duration::from_millis(10);

/// Protects an object from removal until it is dropped or its process ends.
#[derive(Debug)]
pub(super) struct Lease {
    file: File,
}

/// The right to remove an object: there is no lease of it, and none is granted meanwhile.
#[derive(Debug)]
pub(super) struct RemovalClaim {
    path: PathBuf,
    file: File,
}

impl Lease {
    /// Takes a lease; waits for a removal in progress.
    pub(super) async fn take(path: &Path) -> io::Result<Self> {
        loop {
            let file = open(path)?;
            match file.try_lock_shared() {
                Ok(()) if is_current(&file, path) => return Ok(Self { file }),
                // The removal has removed the file too.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl RemovalClaim {
    /// Takes the claim; `None` when there is a lease or another claim.
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) if is_current(&file, path) => Ok(Some(Self {
                path: path.to_owned(),
                file,
            })),
            Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A process that is being forked has the file too, and would hold the lock for a moment.
        let _ = self.file.unlock();
    }
}

impl Drop for RemovalClaim {
    fn drop(&mut self) {
        // A remaining file is empty and reused.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
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
    match file.try_lock() {
        // A process that is being forked has the file too, and would hold the lock for a moment.
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether the path still leads to this file, which is removed with the object.
fn is_current(file: &File, path: &Path) -> bool {
    let inode = |found: io::Result<fs::Metadata>| found.map(|found| found.ino()).ok();
    let here = inode(file.metadata());
    here.is_some() && here == inode(fs::metadata(path))
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
