use fail_point::fail_point;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A lock on a file or directory, released when this is dropped or the process dies.
#[derive(Debug)]
pub(super) struct PathLock {
    file: File,
}

impl Drop for PathLock {
    fn drop(&mut self) {
        // A child between fork and exec has a copy of the file, and would keep the lock for a moment.
        let _ = self.file.unlock();
    }
}

/// The kind of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// Shared with others.
    Shared,
    /// Exclusive.
    Alone,
}

/// The result of an attempt to lock.
#[derive(Debug)]
pub(super) enum Locked {
    /// The lock is held.
    Held(PathLock),
    /// Another process holds it.
    Busy,
    /// The file or directory does not exist, or was removed just now.
    Gone,
}

impl PathLock {
    /// Tries to lock a file, which is created if its directory exists.
    pub(super) fn of_file(path: &Path) -> io::Result<Locked> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.mode(0o600);
        let opened = fail_point!("job_runner::cache::open_lock", options.open(path));
        Self::of_opened(opened, path, Hold::Alone)
    }

    /// Tries to lock an existing directory.
    pub(super) fn of_directory(path: &Path, hold: Hold) -> io::Result<Locked> {
        Self::of_opened(File::open(path), path, hold)
    }

    /// Turns a shared lock into an exclusive one, if no other process shares it.
    ///
    /// The lock is not released in between, so no other process can take it.
    pub(super) fn alone(self, path: &Path) -> io::Result<Locked> {
        self.locked(path, Hold::Alone)
    }

    fn of_opened(opened: io::Result<File>, path: &Path, hold: Hold) -> io::Result<Locked> {
        match opened {
            Ok(file) => Self { file }.locked(path, hold),
            Err(error) if is_gone(&error) => Ok(Locked::Gone),
            Err(error) => Err(error),
        }
    }

    /// Locks the open file, and checks that it is still at `path`.
    fn locked(self, path: &Path, hold: Hold) -> io::Result<Locked> {
        let locked = match hold {
            Hold::Shared => self.file.try_lock_shared(),
            Hold::Alone => self.file.try_lock(),
        };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Locked::Busy),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The previous holder may have moved or removed the file that is locked now.
        let opened = self.file.metadata()?;
        match fs::symlink_metadata(path) {
            Ok(there) if (there.dev(), there.ino()) == (opened.dev(), opened.ino()) => {
                Ok(Locked::Held(self))
            }
            Ok(_) => Ok(Locked::Gone),
            Err(error) if is_gone(&error) => Ok(Locked::Gone),
            Err(error) => Err(error),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_exclusive_or_shared() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("lock");
        let first = PathLock::of_file(&file).expect("locked");
        assert!(matches!(first, Locked::Held(_)));
        let second = PathLock::of_file(&file).expect("asked");
        assert!(matches!(second, Locked::Busy));
        drop(first);
        let again = PathLock::of_file(&file).expect("locked");
        assert!(matches!(again, Locked::Held(_)));
        let readers = [1, 2].map(|_| PathLock::of_directory(root.path(), Hold::Shared));
        let writer = PathLock::of_directory(root.path(), Hold::Alone).expect("asked");
        assert!(
            readers
                .iter()
                .flatten()
                .all(|it| matches!(it, Locked::Held(_)))
        );
        assert!(matches!(writer, Locked::Busy));
    }

    #[test]
    fn sole_holder_becomes_exclusive_despite_a_copy_of_the_file() {
        let root = tempfile::tempdir().expect("a directory");
        let shared = || match PathLock::of_directory(root.path(), Hold::Shared) {
            Ok(Locked::Held(lock)) => lock,
            other => panic!("{other:?}"),
        };
        let other = shared();
        let together = shared().alone(root.path()).expect("asked");
        assert!(matches!(together, Locked::Busy));
        drop(other);
        let lock = shared();
        let _copy = lock.file.try_clone().expect("copied");
        let alone = lock.alone(root.path()).expect("asked");
        assert!(matches!(alone, Locked::Held(_)));
        let again = PathLock::of_directory(root.path(), Hold::Shared).expect("asked");
        assert!(matches!(again, Locked::Busy));
    }

    #[test]
    fn lock_is_released_despite_a_copy_of_the_file() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("lock");
        let Ok(Locked::Held(lock)) = PathLock::of_file(&file) else {
            panic!("it is free");
        };
        let _copy = lock.file.try_clone().expect("copied");
        drop(lock);
        let again = PathLock::of_file(&file).expect("asked");
        assert!(matches!(again, Locked::Held(_)));
    }

    #[test]
    fn missing_path_cannot_be_locked() {
        let root = tempfile::tempdir().expect("a directory");
        let gone = root.path().join("gone");
        let locked = PathLock::of_directory(&gone, Hold::Shared).expect("asked");
        assert!(matches!(locked, Locked::Gone));
        let locked = PathLock::of_file(&gone.join("lock")).expect("asked");
        assert!(matches!(locked, Locked::Gone));
    }
}
