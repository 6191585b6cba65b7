use super::super::CacheError;
use super::caches::LocalCaches;
use super::entry::EntryDir;
use super::layout::{KeyDir, file_error};
use super::list::RemovedCache;
use super::lock::Locked;
use super::temporary::{self, Temporary};
use fail_point::fail_point;
use process::LockKind;
use std::fs;
use std::io;

impl LocalCaches {
    /// Removes a cache by its id in [`entries`](Self::entries). A cache in use is kept.
    ///
    /// # Errors
    ///
    /// When it cannot be removed.
    pub fn remove(&self, id: &str) -> Result<RemovedCache, CacheError> {
        let is_digest = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_digest {
            return Ok(RemovedCache::Gone);
        }
        self.remove_key(&self.layout().of_digest(id))
    }

    /// Returns whether a cache is being written or removed, or was when a process was killed.
    pub fn has_leftovers(&self) -> bool {
        let found = fs::read_dir(self.layout().temporary());
        found.is_ok_and(|mut found| found.next().is_some())
    }

    /// Removes incomplete caches of killed processes.
    pub fn sweep(&self) {
        temporary::sweep(self.layout());
        let found = fs::read_dir(self.layout().keys()).into_iter().flatten();
        let ids = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for key in ids.map(|id| self.layout().of_digest(&id)) {
            let is_empty = key.generations().is_ok_and(|found| found.is_empty());
            if is_empty && let Ok(Locked::Held(_lock)) = Locked::of_file(&key.lock()) {
                Self::forget_if_empty(&key);
            }
        }
    }

    fn remove_key(&self, key: &KeyDir) -> Result<RemovedCache, CacheError> {
        let lock = key.lock();
        // The lock file is created with the first cache of a key.
        let locked = if lock.exists() {
            Locked::of_file(&lock).map_err(file_error("lock", &lock))?
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
            let locked = Locked::of_directory(&path, LockKind::Exclusive);
            match locked.map_err(file_error("lock", &path))? {
                Locked::Held(lock) => readable.push((path, lock)),
                Locked::Busy => return Ok(RemovedCache::InUse),
                Locked::Gone => {}
            }
        }
        let mut freed = 0;
        // The current generation goes last: a reader must not find an old one instead.
        for (path, lock) in readable.into_iter().rev() {
            let size = EntryDir { path: path.clone() }.archive_size();
            drop(Temporary::take(self.layout(), &path, lock)?);
            freed += size.unwrap_or(0);
        }
        let forgotten = forget(key);
        forgotten.map_err(file_error("remove", &key.directory))?;
        drop(writing);
        Ok(RemovedCache::Freed(freed))
    }

    /// Removes a key without generations. The caller holds its lock.
    pub(super) fn forget_if_empty(key: &KeyDir) {
        let is_empty = key.generations().is_ok_and(|found| found.is_empty());
        if is_empty && let Err(error) = forget(key) {
            tracing::debug!(%error, "An empty key could not be removed.");
        }
    }

    /// Removes a replaced generation, unless it is being read.
    pub(super) fn remove_generation(&self, key: &KeyDir, number: u64) -> Result<(), CacheError> {
        let path = key.generation(number);
        let locked = Locked::of_directory(&path, LockKind::Exclusive);
        if let Locked::Held(lock) = locked.map_err(file_error("lock", &path))? {
            drop(Temporary::take(self.layout(), &path, lock)?);
        }
        Ok(())
    }
}

/// Removes the directory of a key without generations.
fn forget(key: &KeyDir) -> io::Result<()> {
    fail_point!(
        "job_runner::cache::remove_key",
        fs::remove_file(key.lock()).and_then(|()| fs::remove_dir(&key.directory))
    )
}
