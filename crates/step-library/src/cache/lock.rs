use process::{FileLock, LockKind};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pause before a lock is tried again: the system does not announce a free lock.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes an exclusive lock; `None` when another program holds it.
pub(super) fn try_exclusive(path: &Path) -> io::Result<Option<FileLock>> {
    loop {
        let file = FileLock::open_file(path)?;
        let Some(lock) = FileLock::if_free(file, LockKind::Exclusive)? else {
            return Ok(None);
        };
        // The previous holder may have removed the file, and the next one creates another.
        if lock.is_file(fs::metadata(path))? {
            return Ok(Some(lock));
        }
    }
}

/// Takes an exclusive lock, and waits for it until `deadline`.
pub(super) async fn exclusive(path: &Path, deadline: Instant) -> io::Result<FileLock> {
    loop {
        match try_exclusive(path)? {
            Some(lock) => return Ok(lock),
            None if Instant::now() < deadline => sleep(PAUSE).await,
            None => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Takes a shared lock; `None` where the file is absent or locked exclusively.
pub(super) fn try_shared(path: &Path) -> io::Result<Option<FileLock>> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some(lock) = FileLock::if_free(file, LockKind::Shared)? else {
        return Ok(None);
    };
    Ok(lock.is_file(fs::metadata(path))?.then_some(lock))
}
