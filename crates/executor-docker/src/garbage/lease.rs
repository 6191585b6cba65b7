//! Locks on the names of things: shared by who uses a candidate, exclusive while it is removed.
//!
//! The kernel takes them from who dies, so nobody has to find out who lives.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a lock is tried that a removal holds.
const PAUSE: Duration = Duration::from_millis(10);

/// What keeps a thing from being removed, until it is dropped or its process ends in whatever way.
#[derive(Debug)]
pub(super) struct Lease {
    file: File,
}

/// The right to remove a candidate: nobody has a lease of it, and nobody gets one meanwhile.
#[derive(Debug)]
pub(super) struct RemovalClaim {
    path: PathBuf,
    file: File,
}

impl Lease {
    /// Takes one; waits while the thing is removed.
    pub(super) async fn take(path: &Path) -> io::Result<Self> {
        loop {
            let file = open(path)?;
            match file.try_lock_shared() {
                Ok(()) if is_current(&file, path) => return Ok(Self { file }),
                // Who removed the thing has removed the file too.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

impl RemovalClaim {
    /// Takes it; `None` where somebody has a lease, or is at it as well.
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
        // A child that is being made has the file too, and would keep the lock for a moment.
        let _ = self.file.unlock();
    }
}

impl Drop for RemovalClaim {
    fn drop(&mut self) {
        // A file that stays is empty, and the next one who wants the thing takes it.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

/// Returns whether somebody has a lease.
pub(super) fn is_held(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        // A child that is being made has the file too, and would keep the lock for a moment.
        Ok(()) => file.unlock().map(|()| false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether the file is still the one of that name: it is removed with the candidate.
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
    async fn who_uses_a_thing_and_who_removes_it_keep_each_other_out() {
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
            _ = &mut waits => panic!("it is being removed"),
            () = std::future::ready(()) => {}
        }
        drop(claim);
        // The name has another file now, which is the one that is locked.
        let lease = waits.await.unwrap();
        assert!(RemovalClaim::take(&path).unwrap().is_none());
        drop(lease);
        assert!(RemovalClaim::take(&path).unwrap().is_some());
        assert!(!path.exists());
    }
}
