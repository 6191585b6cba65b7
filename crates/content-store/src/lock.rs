use crate::error::StoreError;
use executor_core::Cancellation;
use fail_point::fail_point;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// A sweep takes seconds at most, so a longer wait is an error.
const LONGEST: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(3);

/// A file lock, which the kernel releases when the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child between fork and exec shares it and would hold the lock.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes a shared lock, and waits while it is held exclusively.
    pub(crate) fn shared(path: &Path, cancellation: &Cancellation) -> Result<Self, StoreError> {
        let file = open(path)?;
        wait(path, cancellation, || file.try_lock_shared())?;
        Ok(Self { file })
    }

    /// Takes an exclusive lock, and waits for all other holders.
    pub(crate) fn alone(path: &Path, cancellation: &Cancellation) -> Result<Self, StoreError> {
        let file = open(path)?;
        wait(path, cancellation, || file.try_lock())?;
        Ok(Self { file })
    }

    /// Takes an exclusive lock, or returns `None` if it is held already.
    pub(crate) fn if_free(path: &Path) -> Result<Option<Self>, StoreError> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StoreError::store("lock", path)(error)),
        }
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    // A directory can be locked, but not opened for writing.
    if path.is_dir() {
        options.read(true);
    } else {
        options.read(true).write(true).create(true).mode(0o600);
    }
    let opened = fail_point!("content_store::lock::open", options.open(path));
    opened.map_err(StoreError::store("open", path))
}

fn wait(
    path: &Path,
    cancellation: &Cancellation,
    attempt: impl Fn() -> Result<(), TryLockError>,
) -> Result<(), StoreError> {
    let started = Instant::now();
    loop {
        match attempt() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(StoreError::store("lock", path)(error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if cancellation.is_canceled() {
            return Err(StoreError::Stopped);
        }
        if started.elapsed() > LONGEST {
            return Err(StoreError::Locked(LONGEST));
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_releases_a_lock_on_a_duplicated_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lock");
        let lock = Lock::if_free(&path).unwrap().unwrap();
        assert!(Lock::if_free(&path).unwrap().is_none());
        let _copy = lock.file.try_clone().unwrap();
        drop(lock);
        assert!(Lock::if_free(&path).unwrap().is_some());
    }
}
