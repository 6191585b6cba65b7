use crate::image::pull::PullFailure;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What one pull is for. Jobs share a pull only when they would have the same right to it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PullKey {
    /// The image, nothing left out.
    pub(crate) image: String,
    /// The platform that was asked for.
    pub(crate) platform: Option<String>,
    /// A fingerprint of the credentials.
    pub(crate) credentials: [u8; 32],
}

/// Lets one job at a time pull an image, and the jobs that waited have the result too.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<HashMap<PullKey, Arc<Turn>>>>);

#[derive(Debug)]
struct Turn {
    free: Semaphore,
    last: Mutex<Last>,
}

#[derive(Debug, Default)]
struct Last {
    /// How many pulls have come to an end.
    ended: u64,
    result: Option<Result<(), PullFailure>>,
}

impl Turns {
    /// Returns the result of the pull that somebody else has under way, or else does `pull`.
    ///
    /// Who is dropped in the middle leaves the turn to the next.
    pub(crate) async fn share(
        &self,
        key: PullKey,
        pull: impl Future<Output = Result<(), PullFailure>>,
    ) -> Result<(), PullFailure> {
        let seat = self.sit(key);
        let before = seat.turn.last.lock().ended;
        let permit = seat.turn.free.acquire().await;
        let permit = permit.expect("the semaphore is never closed");
        {
            let last = seat.turn.last.lock();
            if last.ended != before
                && let Some(result) = &last.result
            {
                return result.clone();
            }
        }
        let result = pull.await;
        {
            let mut last = seat.turn.last.lock();
            last.ended += 1;
            last.result = Some(result.clone());
        }
        drop(permit);
        result
    }

    fn sit(&self, key: PullKey) -> Seat<'_> {
        let turn = Arc::clone(self.0.lock().entry(key.clone()).or_insert_with(|| {
            Arc::new(Turn {
                free: Semaphore::new(1),
                last: Mutex::default(),
            })
        }));
        Seat {
            turns: self,
            key,
            turn,
        }
    }
}

/// One who waits for a turn or has it; the last one takes the entry away.
struct Seat<'a> {
    turns: &'a Turns,
    key: PullKey,
    turn: Arc<Turn>,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut turns = self.turns.0.lock();
        // The map's own and this one; nobody gets another while the map is locked.
        if Arc::strong_count(&self.turn) == 2 {
            turns.remove(&self.key);
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
    async fn jobs_of_one_time_share_a_pull_and_later_ones_do_not() {
        let (turns, pulls) = (Turns::default(), Cell::new(0));
        let all = join_all((0..20).map(|_| turns.share(key(0), counted(&pulls)))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(pulls.get(), 1);
        turns.share(key(0), counted(&pulls)).await.unwrap();
        assert_eq!(pulls.get(), 2);
        assert!(turns.0.lock().is_empty(), "nothing is left of the turns");
    }

    #[tokio::test]
    async fn other_credentials_are_another_pull() {
        let (turns, pulls) = (Turns::default(), Cell::new(0));
        let (one, other) = tokio::join!(
            turns.share(key(1), counted(&pulls)),
            turns.share(key(2), counted(&pulls)),
        );
        assert!(one.is_ok() && other.is_ok());
        assert_eq!(pulls.get(), 2);
    }

    #[tokio::test]
    async fn who_leaves_in_the_middle_hands_the_turn_on() {
        let (turns, pulls) = (Turns::default(), Cell::new(0));
        let leaves = async {
            let first = turns.share(key(0), pending());
            tokio::select! {
                biased;
                _ = first => unreachable!("it never ends"),
                () = async { for _ in 0..5 { yield_now().await } } => {}
            }
        };
        let ((), second) = tokio::join!(leaves, turns.share(key(0), counted(&pulls)));
        assert!(second.is_ok());
        assert_eq!(pulls.get(), 1);
        assert!(turns.0.lock().is_empty());
    }
}
