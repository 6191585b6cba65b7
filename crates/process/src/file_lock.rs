//! Locks on files and directories, between processes and between threads of one.

use executor_core::HumanDuration;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The time between two attempts: the system does not announce a free lock before a deadline.
const PAUSE: Duration = Duration::from_millis(5);

/// What a lock excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// Exclusive locks.
    Shared,
    /// All other locks.
    Exclusive,
}

/// An open file or directory with a lock. The lock ends when this is dropped, or with its process.
#[derive(Debug)]
pub struct FileLock {
    file: File,
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child between fork and exec shares it and would hold the lock.
        let _ = self.file.unlock();
    }
}

impl FileLock {
    /// Opens a file for a lock, readable and writable, and creates it for its owner only.
    ///
    /// # Errors
    ///
    /// Those of [`OpenOptions::open`].
    pub fn open_file(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.mode(0o600).open(path)
    }

    /// Locks an open file or directory; `Err` inside returns it while another lock excludes this one.
    ///
    /// # Errors
    ///
    /// Fails where the file system has no locks.
    pub fn attempt(file: File, kind: LockKind) -> io::Result<Result<Self, File>> {
        let locked = match kind {
            LockKind::Shared => file.try_lock_shared(),
            LockKind::Exclusive => file.try_lock(),
        };
        match locked {
            Ok(()) => Ok(Ok(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Locks an open file or directory; `None` while another lock excludes this one.
    ///
    /// # Errors
    ///
    /// As [`attempt`](Self::attempt).
    pub fn if_free(file: File, kind: LockKind) -> io::Result<Option<Self>> {
        Self::attempt(file, kind).map(Result::ok)
    }

    /// Locks an open file or directory. Blocks while another lock excludes this one, until `gives_up` returns true;
    /// then returns `None`.
    ///
    /// # Errors
    ///
    /// As [`attempt`](Self::attempt).
    pub fn wait(
        mut file: File,
        kind: LockKind,
        mut gives_up: impl FnMut(&mut File) -> bool,
    ) -> io::Result<Option<Self>> {
        loop {
            file = match Self::attempt(file, kind)? {
                Ok(lock) => return Ok(Some(lock)),
                Err(file) => file,
            };
            if gives_up(&mut file) {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Locks an open file or directory. Blocks for at most `limit` while another lock excludes this one.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::TimedOut`] after the limit; otherwise as [`attempt`](Self::attempt).
    pub fn within(file: File, kind: LockKind, limit: Duration) -> io::Result<Self> {
        let started = Instant::now();
        let lock = Self::wait(file, kind, |_| started.elapsed() >= limit)?;
        lock.ok_or_else(|| {
            let held = format!(
                "another process kept it locked for {}",
                HumanDuration(limit)
            );
            io::Error::new(io::ErrorKind::TimedOut, held)
        })
    }

    /// Turns a shared lock into an exclusive one; `None` if another process shares it.
    ///
    /// The lock is not released in between, so no other process can take it.
    ///
    /// # Errors
    ///
    /// As [`attempt`](Self::attempt).
    pub fn make_exclusive(self) -> io::Result<Option<Self>> {
        match self.file.try_lock() {
            Ok(()) => Ok(Some(self)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns whether the locked file is the one that was found at its path now; false if none was.
    ///
    /// The previous holder of a lock may have moved or removed the file.
    ///
    /// # Errors
    ///
    /// Fails if either of the two cannot be examined.
    pub fn is_file(&self, found: io::Result<Metadata>) -> io::Result<bool> {
        let found = match found {
            Err(error) if is_gone(&error) => return Ok(false),
            found => found?,
        };
        let locked = self.file.metadata()?;
        Ok((found.dev(), found.ino()) == (locked.dev(), locked.ino()))
    }

    /// Returns the locked file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn lock(path: &Path, kind: LockKind) -> Option<FileLock> {
        FileLock::if_free(FileLock::open_file(path).unwrap(), kind).unwrap()
    }

    #[test]
    fn locks_exclude_each_other_until_dropped_despite_a_copy_of_the_file() {
        use LockKind::{Exclusive, Shared};
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("lock");
        let (one, two) = (lock(&path, Shared).unwrap(), lock(&path, Shared).unwrap());
        assert!(lock(&path, Exclusive).is_none());
        assert!(two.make_exclusive().unwrap().is_none());
        let one = one.make_exclusive().unwrap().unwrap();
        assert!(lock(&path, Shared).is_none());
        let waiting = FileLock::open_file(&path).unwrap();
        let given_up = FileLock::wait(waiting, Exclusive, |_| true).unwrap();
        assert!(given_up.is_none());
        let waiting = FileLock::open_file(&path).unwrap();
        let late = FileLock::within(waiting, Exclusive, Duration::ZERO).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        // As a child process that is just starting has one.
        let _copy = one.file().try_clone().unwrap();
        let waiting = FileLock::open_file(&path).unwrap();
        let mut held = Some(one);
        let release = |_: &mut File| {
            drop(held.take());
            false
        };
        let lock = FileLock::wait(waiting, Exclusive, release)
            .unwrap()
            .unwrap();
        assert!(lock.is_file(fs::metadata(&path)).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!lock.is_file(fs::metadata(&path)).unwrap());
        let directory = File::open(root.path()).unwrap();
        assert!(FileLock::if_free(directory, Shared).unwrap().is_some());
    }
}
