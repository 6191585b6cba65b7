use super::super::CacheError;
use super::layout::{Layout, file_error};
use super::lock::Locked;
use fail_point::fail_point;
use process::{FileLock, LockKind};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory for a cache that is being written or removed. It is removed when this is dropped, or by the next
/// process if this one is killed.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    /// Shows other processes that the directory is in use.
    _lock: FileLock,
}

impl Temporary {
    /// Creates a new directory.
    pub(super) fn make(layout: &Layout) -> Result<Self, CacheError> {
        layout.make()?;
        let parent = layout.temporary();
        loop {
            let path = new_name(&parent);
            match fail_point!("job_runner::cache::make_temp", fs::create_dir(&path)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(file_error("make", &path)(error)),
            }
            // Until it is locked, another process may take it for a leftover and remove it.
            let locked = Locked::of_directory(&path, LockKind::Exclusive);
            if let Locked::Held(lock) = locked.map_err(file_error("lock", &path))? {
                return Ok(Self { path, _lock: lock });
            }
        }
    }

    /// Moves a locked directory here.
    pub(super) fn take(layout: &Layout, from: &Path, lock: FileLock) -> Result<Self, CacheError> {
        layout.make()?;
        let path = new_name(&layout.temporary());
        let moved = fail_point!("job_runner::cache::take_away", fs::rename(from, &path));
        moved.map_err(file_error("move", from))?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the directory to its final path.
    pub(super) fn publish(self, target: &Path) -> Result<(), CacheError> {
        let moved = fail_point!("job_runner::cache::publish", fs::rename(&self.path, target));
        // With the lock still held: the old path no longer exists when it is dropped.
        moved.map_err(file_error("publish", target))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let removed = fail_point!(
            "job_runner::cache::remove_temp",
            process::remove_tree(&self.path)
        );
        if let Err(error) = removed {
            let path = self.path.display();
            tracing::debug!(%path, %error, "An incomplete cache remains; the next run removes it.");
        }
    }
}

/// Removes the leftovers of dead processes.
pub(super) fn sweep(layout: &Layout) {
    let Ok(found) = fs::read_dir(layout.temporary()) else {
        return;
    };
    for path in found.filter_map(|entry| Some(entry.ok()?.path())) {
        if let Ok(Locked::Held(lock)) = Locked::of_directory(&path, LockKind::Exclusive) {
            drop(Temporary { path, _lock: lock });
        }
    }
}

/// Returns a name that is unique among processes and within this one.
fn new_name(parent: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let now = now.unwrap_or_default().as_nanos();
    parent.join(format!("{}-{count}-{now:x}", std::process::id()))
}
