//! Requests that nobody waits for any more, and what the engine makes of them all the same.

use crate::error::DockerError;
use executor_core::Cancellation;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long after its end is in sight an engine may do what it was asked for before.
const LATE: Duration = Duration::from_secs(6);
/// How long is waited between two removals of what is not there.
const PAUSE: Duration = Duration::from_millis(100);

/// What a removal found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalOutcome {
    /// It was there, and is gone now.
    Removed,
    /// There was nothing.
    Absent,
}

/// Waits for an answer, unless the job is stopped; then the request is dropped.
///
/// It is boxed, since the requests of `bollard` are large.
pub(crate) fn unless_stopped<'a, T: Send + 'a>(
    cancellation: &'a Cancellation,
    answer: impl Future<Output = Result<T, DockerError>> + Send + 'a,
) -> BoxFuture<'a, Result<T, DockerError>> {
    let answer = Box::pin(answer);
    Box::pin(async move {
        tokio::select! {
            biased;
            cause = cancellation.canceled() => Err(cause.into()),
            answer = answer => answer,
        }
    })
}

/// Nobody has asked for it.
const UNASKED: u8 = 0;
/// It was asked for, and nobody got the answer.
const UNANSWERED: u8 = 1;
/// It was asked for, and what became of that is known.
const ANSWERED: u8 = 2;

/// Whether an engine may still make something that was asked for: nobody got its answer. Clones are the
/// same pending.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingRequest(Arc<AtomicU8>);

impl PendingRequest {
    /// About what is there.
    pub(crate) fn none() -> Self {
        Self(Arc::new(AtomicU8::new(ANSWERED)))
    }

    /// Returns whether anybody ever asked for it.
    pub(crate) fn was_asked(&self) -> bool {
        self.0.load(Ordering::SeqCst) != UNASKED
    }

    /// Waits for the answer to a request that makes something. While it is not there, and when it never
    /// comes, there is pending.
    pub(crate) async fn until_answered<T>(
        &self,
        answer: impl Future<Output = Result<T, DockerError>>,
    ) -> Result<T, DockerError> {
        self.0.store(UNANSWERED, Ordering::SeqCst);
        let answer = answer.await;
        let is_known = matches!(answer, Ok(_) | Err(DockerError::Api { .. }));
        let state = if is_known { ANSWERED } else { UNANSWERED };
        self.0.store(state, Ordering::SeqCst);
        answer
    }

    /// Returns whether there is pending.
    pub(crate) fn is_left(&self) -> bool {
        self.0.load(Ordering::SeqCst) == UNANSWERED
    }

    /// Removes the thing; where there is pending, again for a while until it was there.
    pub(crate) async fn settle<F: Future<Output = Result<RemovalOutcome, DockerError>>>(
        &self,
        mut remove: impl FnMut() -> F,
    ) -> Result<(), DockerError> {
        let end = Instant::now() + LATE;
        while remove().await? == RemovalOutcome::Absent && self.is_left() && Instant::now() < end {
            sleep(PAUSE).await;
        }
        if self.is_left() {
            self.0.store(ANSWERED, Ordering::SeqCst);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::CancelCause;
    use std::cell::Cell;

    fn api() -> DockerError {
        DockerError::Api {
            doing: "create container a".to_owned(),
            status: 409,
            message: "no".to_owned(),
        }
    }

    async fn removals(pending: &PendingRequest, there_at: usize) -> usize {
        let count = Cell::new(0);
        let settled = pending.settle(|| {
            count.set(count.get() + 1);
            std::future::ready(Ok(if count.get() == there_at {
                RemovalOutcome::Removed
            } else {
                RemovalOutcome::Absent
            }))
        });
        settled.await.expect("nothing stands in the way");
        count.get()
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_come_late_is_looked_for_until_it_is_there() {
        let check = async |answer: Result<(), DockerError>, there_at: usize, expect: usize| {
            let pending = PendingRequest::default();
            let words = format!("{answer:?}");
            // How it ended is what the doubt is about.
            let _ = pending.until_answered(async { answer }).await;
            assert_eq!(removals(&pending, there_at).await, expect, "{words}");
            assert!(!pending.is_left(), "{words}");
        };
        check(Ok(()), 5, 1).await;
        check(Err(api()), 5, 1).await;
        let canceled = || Err(DockerError::Canceled(CancelCause::User));
        check(canceled(), 5, 5).await;
        check(canceled(), 1, 1).await;
        check(canceled(), usize::MAX, 61).await;
    }

    #[tokio::test]
    async fn a_dropped_request_leaves_doubt() {
        let (pending, cancellation) = (PendingRequest::default(), Cancellation::new());
        cancellation.cancel(CancelCause::User);
        let never = std::future::pending::<Result<(), DockerError>>();
        let asked = pending.until_answered(unless_stopped(&cancellation, never));
        assert!(!pending.was_asked() && !pending.is_left());
        assert!(matches!(asked.await, Err(DockerError::Canceled(_))));
        assert!(pending.was_asked() && pending.is_left());
    }
}
