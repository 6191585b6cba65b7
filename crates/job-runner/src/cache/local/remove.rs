use super::super::CacheError;
use super::caches::LocalCaches;
use super::entry::EntryDir;
use super::listed::RemovedCache;
use super::lock::{Hold, Locked, PathLock};
use super::place::{KeyPlace, file_error};
use super::temporary::{self, Temporary};
use fail_point::fail_point;
use std::fs;
use std::io;

impl LocalCaches {
    /// Removes a cache by the id that [`entries`](Self::entries) tells. One that a job reads or writes
    /// stays.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove(&self, id: &str) -> Result<RemovedCache, CacheError> {
        let is_digest = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest {
            return Ok(RemovedCache::Gone);
        }
        self.remove_key(&self.place().of_digest(id))
    }

    /// Returns whether something is being written or removed, or was when a process was killed.
    pub fn has_leftovers(&self) -> bool {
        let found = fs::read_dir(self.place().temporary());
        found.is_ok_and(|mut found| found.next().is_some())
    }

    /// Removes what killed processes have left half written or half removed.
    pub fn sweep(&self) {
        temporary::sweep(self.place());
        let found = fs::read_dir(self.place().keys()).into_iter().flatten();
        let ids = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for key in ids.map(|id| self.place().of_digest(&id)) {
            let is_empty = key.generations().is_ok_and(|found| found.is_empty());
            if is_empty && let Ok(Locked::Held(_lock)) = PathLock::of_file(&key.lock()) {
                Self::forget_if_empty(&key);
            }
        }
    }

    fn remove_key(&self, key: &KeyPlace) -> Result<RemovedCache, CacheError> {
        let lock = key.lock();
        // A lock is made with the first cache of a key, so what has none has been removed.
        let locked = if lock.exists() {
            PathLock::of_file(&lock).map_err(file_error("lock", &lock))?
        } else {
            Locked::Gone
        };
        let writing = match locked {
            Locked::Held(writing) => writing,
            Locked::Busy => return Ok(RemovedCache::InUse),
            Locked::Gone => return Ok(RemovedCache::Gone),
        };
        let mut readable = Vec::new();
        for number in key.generations()? {
            let path = key.generation(number);
            let locked = PathLock::of_directory(&path, Hold::Alone);
            match locked.map_err(file_error("lock", &path))? {
                Locked::Held(lock) => readable.push((path, lock)),
                Locked::Busy => return Ok(RemovedCache::InUse),
                Locked::Gone => {}
            }
        }
        let mut freed = 0;
        // The one that counts goes last: a reader never finds an old one in its place.
        for (path, lock) in readable.into_iter().rev() {
            let size = EntryDir { path: path.clone() }.archive_size();
            drop(Temporary::take(self.place(), &path, lock)?);
            freed += size.unwrap_or(0);
        }
        let forgotten = forget(key);
        forgotten.map_err(file_error("remove", &key.directory))?;
        drop(writing);
        Ok(RemovedCache::Freed(freed))
    }

    /// Removes a key under which nothing is kept after all. Whoever calls holds its lock.
    pub(super) fn forget_if_empty(key: &KeyPlace) {
        let is_empty = key.generations().is_ok_and(|found| found.is_empty());
        if is_empty && let Err(error) = forget(key) {
            tracing::debug!(%error, "A key without a cache stays.");
        }
    }

    /// Removes a generation that was replaced, unless somebody reads it.
    pub(super) fn remove_generation(&self, key: &KeyPlace, number: u64) -> Result<(), CacheError> {
        let path = key.generation(number);
        let locked = PathLock::of_directory(&path, Hold::Alone);
        if let Locked::Held(lock) = locked.map_err(file_error("lock", &path))? {
            drop(Temporary::take(self.place(), &path, lock)?);
        }
        Ok(())
    }
}

/// Removes the directory of a key that has no generation any more.
fn forget(key: &KeyPlace) -> io::Result<()> {
    fail_point!(
        "job_runner::cache::remove_key",
        fs::remove_file(key.lock()).and_then(|()| fs::remove_dir(&key.directory))
    )
}
