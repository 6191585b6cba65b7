use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long to wait before trying again: the system tells nobody that a lock is free.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes a lock that nobody else has, or returns `None` when somebody has it.
pub(super) fn try_alone(path: &Path) -> io::Result<Option<File>> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever had it before may have removed it, and the next one makes another file.
        if is_there(&file, path) {
            return Ok(Some(file));
        }
    }
}

/// Takes a lock that nobody else has, and waits for it until `until`.
pub(super) async fn alone(path: &Path, until: Instant) -> io::Result<File> {
    loop {
        match try_alone(path)? {
            Some(file) => return Ok(file),
            None if Instant::now() < until => sleep(PAUSE).await,
            None => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Takes a lock that others may share; `None` where there is none to take.
pub(super) fn try_shared(path: &Path) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(Some(file).filter(|file| is_there(file, path))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_there(file: &File, path: &Path) -> bool {
    let same = |one: fs::Metadata, other: fs::Metadata| {
        one.ino() == other.ino() && one.dev() == other.dev()
    };
    match (file.metadata(), fs::metadata(path)) {
        (Ok(one), Ok(other)) => same(one, other),
        _ => false,
    }
}
