//! The store of local caches: waits for locks and works on threads for blocking work.

use super::super::{CacheError, CacheFiles, CacheKey, CacheStore, RestoredCache, SavedCache};
use super::caches::LocalCaches;
use super::layout::{KeyDir, Layout, file_error, make_private};
use super::lock::Locked;
use super::restore::{Held, Newest};
use crate::panics::off_thread;
use async_trait::async_trait;
use executor_core::Cancellation;
use process::FileLock;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The first pause between two attempts to lock; it grows to a second.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];

#[async_trait]
impl CacheStore for LocalCaches {
    async fn contains(&self, key: &CacheKey) -> bool {
        let layout = self.layout().of_key(self.scope(), key);
        // A restore reports errors of this check.
        layout.generations().map_or(true, |found| !found.is_empty())
    }

    async fn restore(
        &self,
        key: &CacheKey,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<Option<RestoredCache>, CacheError> {
        let layout = self.layout().of_key(self.scope(), key);
        let find = || match Newest::of(&layout)? {
            Newest::Absent => Ok(Some(None)),
            Newest::Held(held) => Ok(Some(Some(held))),
            Newest::Changing => Ok(None),
        };
        let found: Option<Held> = self.wait_for(find, cancellation).await?;
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
        let layout = self.layout().of_key(self.scope(), key);
        let lock = || lock(self.layout(), &layout);
        let lock = self.wait_for(lock, cancellation).await?;
        let (caches, key, cancellation) = (self.clone(), key.clone(), cancellation.clone());
        let saved = off_thread(move || {
            let saved = caches.pack(&layout, &key, &files, &cancellation);
            // With the lock still held, so that the new cache is not the one to remove.
            match saved {
                Ok(SavedCache::Created { .. }) => caches.keep_within_budget(),
                Ok(SavedCache::UpToDate) => {}
                Err(_) => Self::forget_if_empty(&layout),
            }
            drop(lock);
            saved
        });
        saved.await.unwrap_or_else(|error| Err(broke(error)))
    }
}

impl LocalCaches {
    /// Repeats an attempt until it succeeds or the waiting time is over.
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

/// Takes the lock of a writer; `None` while another process has it or removes the key.
fn lock(all: &Layout, layout: &KeyDir) -> Result<Option<FileLock>, CacheError> {
    all.make()?;
    make_private(&layout.directory)?;
    let path = layout.lock();
    let locked = Locked::of_file(&path).map_err(file_error("lock", &path))?;
    Ok(match locked {
        Locked::Held(lock) => Some(lock),
        Locked::Busy | Locked::Gone => None,
    })
}

fn broke(error: io::Error) -> CacheError {
    CacheError::Other {
        message: "process the archive".to_owned(),
        source: Some(error.into()),
    }
}
