//! The store behind the port: waits for locks, and works where it holds up no other job.

use super::super::{CacheError, CacheFiles, CacheKey, CacheStore, RestoredCache, SavedCache};
use super::caches::LocalCaches;
use super::lock::{Locked, PathLock};
use super::place::{KeyPlace, Place, file_error, make_private};
use super::restore::{Held, Newest};
use crate::off_thread::off_thread;
use async_trait::async_trait;
use executor_core::Cancellation;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long to wait before looking again; it grows to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];

#[async_trait]
impl CacheStore for LocalCaches {
    async fn contains(&self, key: &CacheKey) -> bool {
        let place = self.place().of_key(self.scope(), key);
        // What cannot be looked at is told of by whoever restores it.
        place.generations().map_or(true, |found| !found.is_empty())
    }

    async fn restore(
        &self,
        key: &CacheKey,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<Option<RestoredCache>, CacheError> {
        let place = self.place().of_key(self.scope(), key);
        let look = || match Newest::of(&place)? {
            Newest::Absent => Ok(Some(None)),
            Newest::Held(held) => Ok(Some(Some(held))),
            Newest::Changing => Ok(None),
        };
        let found: Option<Held> = self.wait_for(look, cancellation).await?;
        let Some(held) = found else {
            return Ok(None);
        };
        let (caches, into, cancellation) = (self.clone(), into.to_owned(), cancellation.clone());
        let unpacked = off_thread(move || caches.unpack(held, &into, &cancellation)).await;
        unpacked.unwrap_or_else(|error| Err(broke(error))).map(Some)
    }

    async fn save(
        &self,
        key: &CacheKey,
        files: CacheFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedCache, CacheError> {
        let place = self.place().of_key(self.scope(), key);
        let lock = || lock(self.place(), &place);
        let lock = self.wait_for(lock, cancellation).await?;
        let (caches, key, cancellation) = (self.clone(), key.clone(), cancellation.clone());
        let saved = off_thread(move || {
            let saved = caches.pack(&place, &key, &files, &cancellation);
            // With the lock still held: the newest is not the one to go.
            match saved {
                Ok(SavedCache::Created { .. }) => caches.keep_within_budget(),
                Ok(SavedCache::UpToDate) => {}
                Err(_) => Self::forget_if_empty(&place),
            }
            drop(lock);
            saved
        });
        saved.await.unwrap_or_else(|error| Err(broke(error)))
    }
}

impl LocalCaches {
    /// Asks again and again until there is an answer, or patience is at its end.
    async fn wait_for<T>(
        &self,
        mut ask: impl FnMut() -> Result<Option<T>, CacheError> + Send,
        cancellation: &Cancellation,
    ) -> Result<T, CacheError> {
        let [mut pause, longest] = PAUSES;
        let until = Instant::now() + self.longest_wait();
        loop {
            if cancellation.is_canceled() {
                return Err(CacheError::Stopped);
            }
            if let Some(answer) = ask()? {
                return Ok(answer);
            }
            if Instant::now() >= until {
                let waited = self.longest_wait();
                return Err(CacheError::Busy { waited });
            }
            tokio::select! {
                () = sleep(pause) => {}
                _ = cancellation.canceled() => {}
            }
            pause = (pause * 2).min(longest);
        }
    }
}

/// Takes the lock of whoever writes; `None` while another has it, or removes all of the key.
fn lock(all: &Place, place: &KeyPlace) -> Result<Option<PathLock>, CacheError> {
    all.make()?;
    make_private(&place.directory)?;
    let path = place.lock();
    let locked = PathLock::of_file(&path).map_err(file_error("lock", &path))?;
    Ok(match locked {
        Locked::Held(lock) => Some(lock),
        Locked::Busy | Locked::Gone => None,
    })
}

fn broke(error: io::Error) -> CacheError {
    CacheError::Other {
        message: "work with the archive".to_owned(),
        source: Some(error.into()),
    }
}
