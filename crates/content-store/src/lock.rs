use crate::error::StoreError;
use executor_core::Cancellation;
use fail_point::fail_point;
use process::{FileLock, LockKind};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// A sweep takes seconds at most, so a longer wait is an error.
const LONGEST: Duration = Duration::from_mins(1);

/// Takes a lock, and waits while another one excludes it.
pub(crate) fn lock(
    path: &Path,
    kind: LockKind,
    cancellation: &Cancellation,
) -> Result<FileLock, StoreError> {
    let started = Instant::now();
    let gives_up = |_: &mut File| cancellation.is_canceled() || started.elapsed() > LONGEST;
    let lock = FileLock::wait(open(path)?, kind, gives_up);
    lock.map_err(StoreError::store("lock", path))?
        .ok_or_else(|| {
            if cancellation.is_canceled() {
                StoreError::Stopped
            } else {
                StoreError::Locked(LONGEST)
            }
        })
}

/// Takes an exclusive lock, or returns `None` if it is held already.
pub(crate) fn lock_if_free(path: &Path) -> Result<Option<FileLock>, StoreError> {
    FileLock::if_free(open(path)?, LockKind::Exclusive).map_err(StoreError::store("lock", path))
}

fn open(path: &Path) -> Result<File, StoreError> {
    // A directory can be locked, but not opened for writing.
    let open = || {
        if path.is_dir() {
            File::open(path)
        } else {
            FileLock::open_file(path)
        }
    };
    fail_point!("content_store::lock::open", open()).map_err(StoreError::store("open", path))
}
