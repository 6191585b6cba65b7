use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pause before a lock is tried again: the system does not announce a free lock.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes an exclusive lock; `None` when another program holds it.
pub(super) fn try_exclusive(path: &Path) -> io::Result<Option<File>> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The previous holder may have removed the file, and the next one creates another.
        if is_current(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Takes an exclusive lock, and waits for it until `deadline`.
pub(super) async fn exclusive(path: &Path, deadline: Instant) -> io::Result<File> {
    loop {
        match try_exclusive(path)? {
            Some(file) => return Ok(file),
            None if Instant::now() < deadline => sleep(PAUSE).await,
            None => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Takes a shared lock; `None` where the file is absent or locked exclusively.
pub(super) fn try_shared(path: &Path) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file).filter(|file| is_current(file, path))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether an open file is still the one at its path.
fn is_current(file: &File, path: &Path) -> bool {
    let same = |one: fs::Metadata, other: fs::Metadata| {
        one.ino() == other.ino() && one.dev() == other.dev()
    };
    match (file.metadata(), fs::metadata(path)) {
        (Ok(one), Ok(other)) => same(one, other),
        _ => false,
    }
}
