use crate::image::pull::PullFailure;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// The key of a pull. Jobs share a pull only with equal rights to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PullKey {
    /// The full name of the image.
    pub(crate) image: String,
    /// The requested platform.
    pub(crate) platform: Option<String>,
    /// A fingerprint of the credentials.
    pub(crate) credentials: [u8; 32],
}

/// Lets one job at a time pull an image; waiting jobs get its result.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedPulls(Arc<Mutex<HashMap<PullKey, Arc<SharedPull>>>>);

#[derive(Debug)]
struct SharedPull {
    free: Semaphore,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// The number of ended pulls.
    ended: u64,
    result: Option<Result<(), PullFailure>>,
}

impl SharedPulls {
    /// Returns the result of a pull in progress, or else awaits `pull`.
    ///
    /// A dropped call passes the pull to the next job.
    pub(crate) async fn share(
        &self,
        key: PullKey,
        pull: impl Future<Output = Result<(), PullFailure>>,
    ) -> Result<(), PullFailure> {
        let participant = self.join(key);
        let before = participant.pull.last.lock().ended;
        let permit = participant.pull.free.acquire().await;
        let permit = permit.expect("the semaphore is never closed");
        {
            let last = participant.pull.last.lock();
            if last.ended != before
                && let Some(result) = &last.result
            {
                return result.clone();
            }
        }
        let result = pull.await;
        {
            let mut last = participant.pull.last.lock();
            last.ended += 1;
            last.result = Some(result.clone());
        }
        drop(permit);
        result
    }

    fn join(&self, key: PullKey) -> Participant<'_> {
        let pull = Arc::clone(self.0.lock().entry(key.clone()).or_insert_with(|| {
            Arc::new(SharedPull {
                free: Semaphore::new(1),
                last: Mutex::default(),
            })
        }));
        Participant {
            shared_pulls: self,
            key,
            pull,
        }
    }
}

/// A job that pulls or waits; the last one removes the entry.
struct Participant<'a> {
    shared_pulls: &'a SharedPulls,
    key: PullKey,
    pull: Arc<SharedPull>,
}

impl Drop for Participant<'_> {
    fn drop(&mut self) {
        let mut shared_pulls = self.shared_pulls.0.lock();
        // The map's reference and this one; no other can be taken while the map is locked.
        if Arc::strong_count(&self.pull) == 2 {
            shared_pulls.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::cell::Cell;
    use std::future::pending;
    use tokio::task::yield_now;

    fn key(credentials: u8) -> PullKey {
        PullKey {
            image: "docker.io/library/app:1".to_owned(),
            platform: None,
            credentials: [credentials; 32],
        }
    }

    async fn counted(pulls: &Cell<u32>) -> Result<(), PullFailure> {
        pulls.set(pulls.get() + 1);
        yield_now().await;
        Ok(())
    }

    #[tokio::test]
    async fn concurrent_jobs_share_a_pull_and_later_ones_do_not() {
        let (shared_pulls, pulls) = (SharedPulls::default(), Cell::new(0));
        let all = join_all((0..20).map(|_| shared_pulls.share(key(0), counted(&pulls)))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(pulls.get(), 1);
        shared_pulls.share(key(0), counted(&pulls)).await.unwrap();
        assert_eq!(pulls.get(), 2);
        assert!(
            shared_pulls.0.lock().is_empty(),
            "nothing is left of the shared_pulls"
        );
    }

    #[tokio::test]
    async fn other_credentials_need_another_pull() {
        let (shared_pulls, pulls) = (SharedPulls::default(), Cell::new(0));
        let (one, other) = tokio::join!(
            shared_pulls.share(key(1), counted(&pulls)),
            shared_pulls.share(key(2), counted(&pulls)),
        );
        assert!(one.is_ok() && other.is_ok());
        assert_eq!(pulls.get(), 2);
    }

    #[tokio::test]
    async fn a_dropped_pull_passes_to_the_next_job() {
        let (shared_pulls, pulls) = (SharedPulls::default(), Cell::new(0));
        let leaves = async {
            let first = shared_pulls.share(key(0), pending());
            tokio::select! {
                biased;
                _ = first => unreachable!("the pull never ends"),
                () = async { for _ in 0..5 { yield_now().await } } => {}
            }
        };
        let ((), second) = tokio::join!(leaves, shared_pulls.share(key(0), counted(&pulls)));
        assert!(second.is_ok());
        assert_eq!(pulls.get(), 1);
        assert!(shared_pulls.0.lock().is_empty());
    }
}
