use fail_point::fail_point;
use process::{FileLock, LockKind};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The result of an attempt to lock a file or directory at its path.
#[derive(Debug)]
pub(super) enum Locked {
    /// The lock is held.
    Held(FileLock),
    /// Another process holds it.
    Busy,
    /// The file or directory does not exist, or was removed just now.
    Gone,
}

impl Locked {
    /// Tries to lock a file, which is created if its directory exists.
    pub(super) fn of_file(path: &Path) -> io::Result<Self> {
        let opened = fail_point!("job_runner::cache::open_lock", FileLock::open_file(path));
        Self::of_opened(opened, path, LockKind::Exclusive)
    }

    /// Tries to lock an existing directory.
    pub(super) fn of_directory(path: &Path, kind: LockKind) -> io::Result<Self> {
        Self::of_opened(File::open(path), path, kind)
    }

    /// Tries to turn a shared lock into an exclusive one, without a moment in between.
    pub(super) fn alone(lock: FileLock, path: &Path) -> io::Result<Self> {
        Self::of_locked(lock.make_exclusive()?, path)
    }

    fn of_opened(opened: io::Result<File>, path: &Path, kind: LockKind) -> io::Result<Self> {
        use io::ErrorKind::{NotADirectory, NotFound};
        match opened {
            Ok(file) => Self::of_locked(FileLock::if_free(file, kind)?, path),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(Self::Gone),
            Err(error) => Err(error),
        }
    }

    fn of_locked(lock: Option<FileLock>, path: &Path) -> io::Result<Self> {
        let Some(lock) = lock else {
            return Ok(Self::Busy);
        };
        // The previous holder may have moved or removed the file that is locked now.
        let is_there = lock.is_file(fs::symlink_metadata(path))?;
        Ok(if is_there {
            Self::Held(lock)
        } else {
            Self::Gone
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_exclusive_or_shared() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("lock");
        let first = Locked::of_file(&file).expect("locked");
        assert!(matches!(first, Locked::Held(_)));
        let second = Locked::of_file(&file).expect("asked");
        assert!(matches!(second, Locked::Busy));
        drop(first);
        let again = Locked::of_file(&file).expect("locked");
        assert!(matches!(again, Locked::Held(_)));
        let readers = [1, 2].map(|_| Locked::of_directory(root.path(), LockKind::Shared));
        let writer = Locked::of_directory(root.path(), LockKind::Exclusive).expect("asked");
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
        let shared = || match Locked::of_directory(root.path(), LockKind::Shared) {
            Ok(Locked::Held(lock)) => lock,
            other => panic!("{other:?}"),
        };
        let other = shared();
        let together = Locked::alone(shared(), root.path()).expect("asked");
        assert!(matches!(together, Locked::Busy));
        drop(other);
        let lock = shared();
        let _copy = lock.file().try_clone().expect("copied");
        let alone = Locked::alone(lock, root.path()).expect("asked");
        assert!(matches!(alone, Locked::Held(_)));
        let again = Locked::of_directory(root.path(), LockKind::Shared).expect("asked");
        assert!(matches!(again, Locked::Busy));
    }

    #[test]
    fn missing_path_cannot_be_locked() {
        let root = tempfile::tempdir().expect("a directory");
        let gone = root.path().join("gone");
        let locked = Locked::of_directory(&gone, LockKind::Shared).expect("asked");
        assert!(matches!(locked, Locked::Gone));
        let locked = Locked::of_file(&gone.join("lock")).expect("asked");
        assert!(matches!(locked, Locked::Gone));
    }
}
