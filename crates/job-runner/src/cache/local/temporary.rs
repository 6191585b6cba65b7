use super::super::CacheError;
use super::lock::{Hold, Locked, PathLock};
use super::place::{Place, file_error};
use fail_point::fail_point;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A directory for what is not yet a cache, or no more. It is removed when it is dropped, and if its
/// process is killed by the next that looks.
#[derive(Debug)]
pub(super) struct Temporary {
    path: PathBuf,
    /// Tells the others that somebody lives in it.
    _lock: PathLock,
}

impl Temporary {
    /// Makes a new one.
    pub(super) fn make(place: &Place) -> Result<Self, CacheError> {
        place.make()?;
        let parent = place.temporary();
        loop {
            let path = new_name(&parent);
            match fail_point!("job_runner::cache::make_temp", fs::create_dir(&path)) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(file_error("make", &path)(error)),
            }
            // Until it is locked it looks like a dead one's, so it may have been removed.
            let locked = PathLock::of_directory(&path, Hold::Alone);
            if let Locked::Held(lock) = locked.map_err(file_error("lock", &path))? {
                return Ok(Self { path, _lock: lock });
            }
        }
    }

    /// Takes in a directory from another place, which is locked.
    pub(super) fn take(place: &Place, from: &Path, lock: PathLock) -> Result<Self, CacheError> {
        place.make()?;
        let path = new_name(&place.temporary());
        let moved = fail_point!("job_runner::cache::take_away", fs::rename(from, &path));
        moved.map_err(file_error("take away", from))?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the directory where others look for it.
    pub(super) fn publish(self, target: &Path) -> Result<(), CacheError> {
        let moved = fail_point!("job_runner::cache::publish", fs::rename(&self.path, target));
        // With the lock still held: nothing is at the old place any more when this is dropped.
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
            tracing::debug!(%path, %error, "Something of a cache stays for the next to remove.");
        }
    }
}

/// Removes what dead processes left.
pub(super) fn sweep(place: &Place) {
    let Ok(found) = fs::read_dir(place.temporary()) else {
        return;
    };
    for path in found.filter_map(|entry| Some(entry.ok()?.path())) {
        if let Ok(Locked::Held(lock)) = PathLock::of_directory(&path, Hold::Alone) {
            drop(Temporary { path, _lock: lock });
        }
    }
}

/// Returns a name that no other process uses, and this one uses once.
fn new_name(parent: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
    let now = now.unwrap_or_default().as_nanos();
    parent.join(format!("{}-{count}-{now:x}", std::process::id()))
}
