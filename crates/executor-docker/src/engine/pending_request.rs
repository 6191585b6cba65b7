//! Create requests whose outcome is unknown.

use crate::error::DockerError;
use executor_core::Cancellation;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long after the removal began an engine may still execute an earlier request.
const LATE: Duration = Duration::from_secs(6);
/// The pause between two attempts to remove an absent object.
const PAUSE: Duration = Duration::from_millis(100);

/// The outcome of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RemovalOutcome {
    /// The object existed and is removed.
    Removed,
    /// The object did not exist.
    Absent,
}

/// Waits for a response; drops the request when the job is stopped.
///
/// Boxed, because the requests of `bollard` are large.
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

/// The request was not sent.
const NOT_SENT: u8 = 0;
/// The request was sent, and its outcome is unknown.
const UNANSWERED: u8 = 1;
/// The outcome is known.
const ANSWERED: u8 = 2;

/// A request to create an object, whose outcome may be unknown. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct PendingRequest(Arc<AtomicU8>);

impl PendingRequest {
    /// Returns the state of an object that exists.
    pub(crate) fn none() -> Self {
        Self(Arc::new(AtomicU8::new(ANSWERED)))
    }

    /// Returns whether the request was sent.
    pub(crate) fn was_sent(&self) -> bool {
        self.0.load(Ordering::SeqCst) != NOT_SENT
    }

    /// Waits for the response to the request. Without a response, the outcome stays unknown.
    pub(crate) async fn track<T>(
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

    /// Returns whether the outcome is unknown.
    pub(crate) fn is_unknown(&self) -> bool {
        self.0.load(Ordering::SeqCst) == UNANSWERED
    }

    /// Removes the object; while the outcome is unknown, retries for a while until the object appeared.
    pub(crate) async fn settle<F: Future<Output = Result<RemovalOutcome, DockerError>>>(
        &self,
        mut remove: impl FnMut() -> F,
    ) -> Result<(), DockerError> {
        let end = Instant::now() + LATE;
        while remove().await? == RemovalOutcome::Absent && self.is_unknown() && Instant::now() < end
        {
            sleep(PAUSE).await;
        }
        if self.is_unknown() {
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
        settled.await.expect("the removal succeeds");
        count.get()
    }

    #[tokio::test(start_paused = true)]
    async fn a_pending_object_is_removed_when_it_appears() {
        let check = async |answer: Result<(), DockerError>, there_at: usize, expect: usize| {
            let pending = PendingRequest::default();
            let text = format!("{answer:?}");
            // The outcome is the input of this test.
            let _ = pending.track(async { answer }).await;
            assert_eq!(removals(&pending, there_at).await, expect, "{text}");
            assert!(!pending.is_unknown(), "{text}");
        };
        check(Ok(()), 5, 1).await;
        check(Err(api()), 5, 1).await;
        let canceled = || Err(DockerError::Canceled(CancelCause::User));
        check(canceled(), 5, 5).await;
        check(canceled(), 1, 1).await;
        check(canceled(), usize::MAX, 61).await;
    }

    #[tokio::test]
    async fn the_outcome_of_a_dropped_request_is_unknown() {
        let (pending, cancellation) = (PendingRequest::default(), Cancellation::new());
        cancellation.cancel(CancelCause::User);
        let never = std::future::pending::<Result<(), DockerError>>();
        let asked = pending.track(unless_stopped(&cancellation, never));
        assert!(!pending.was_sent() && !pending.is_unknown());
        assert!(matches!(asked.await, Err(DockerError::Canceled(_))));
        assert!(pending.was_sent() && pending.is_unknown());
    }
}
