//! Locks between the processes of drivers.

use crate::failure::Failure;
use crate::stop::Stage;
use crate::wait::{NotReady, Wait};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A lock that one process holds at a time; the kernel releases it when the process dies.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Waits for the lock, and logs `waiting` while another process holds it.
    ///
    /// # Errors
    ///
    /// When it is not free in time, when the stage is stopped, or when the file cannot be opened.
    pub fn acquire(
        path: &Path,
        waiting: &str,
        limit: Duration,
        stage: &Stage<'_>,
    ) -> Result<Self, Failure> {
        let wait = Wait {
            limit,
            pause: Duration::from_millis(50),
        };
        wait.until(waiting, stage, || {
            Self::try_acquire(path)?.ok_or_else(|| {
                let note = fs::read_to_string(path).unwrap_or_default();
                NotReady::not_yet(if note.is_empty() {
                    "another process holds the lock"
                } else {
                    &note
                })
            })
        })
    }

    /// Takes the lock; `None` while another process holds it.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or locked.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>, Failure> {
        let failed = |error| Failure::system(format!("lock {}: {error}", path.display()));
        loop {
            let mut options = OpenOptions::new();
            let options = options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600);
            let file = options.open(path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // The holder before may have removed the file, and another process may have locked a new one.
            let locked = file.metadata().map_err(failed)?;
            let is_current = fs::metadata(path)
                .is_ok_and(|it| (it.dev(), it.ino()) == (locked.dev(), locked.ino()));
            if is_current {
                let path = path.to_owned();
                let lock = Self { file, path };
                if locked.len() > 0 {
                    // A holder that was killed has left its progress.
                    lock.note("");
                }
                return Ok(Some(lock));
            }
        }
    }

    /// Writes a line for the processes that wait: how far the holder is.
    pub fn note(&self, progress: &str) {
        // A waiter then shows an older line.
        let _ = self
            .file
            .set_len(0)
            .and_then(|()| self.file.write_all_at(progress.as_bytes(), 0));
    }

    /// Returns how long ago the file was created or last written; `None` if that is not known.
    pub(crate) fn age(&self) -> Option<Duration> {
        let modified = self.file.metadata().and_then(|it| it.modified()).ok()?;
        SystemTime::now().duration_since(modified).ok()
    }

    /// Removes the file and releases the lock. A process that waits for it locks a new file.
    ///
    /// # Errors
    ///
    /// When the file cannot be removed.
    pub fn remove(self) -> Result<(), Failure> {
        fs::remove_file(&self.path)
            .map_err(|error| Failure::system(format!("remove {}: {error}", self.path.display())))
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child between fork and exec shares it and would hold the lock.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_ends_with_its_holder_despite_a_copy_of_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = FileLock::try_acquire(&path).unwrap().unwrap();
        let _copy = held.file.try_clone().unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(held);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
    }
}
