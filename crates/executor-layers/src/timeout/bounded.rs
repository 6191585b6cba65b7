//! A time limit for a call that must not be dropped halfway.

use executor_core::{CancelCause, Cancellation};
use std::time::Duration;

/// The limits of a call and of its stop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// The time limit of the call.
    pub(super) limit: Duration,
    /// The time for a cancelled call to end gracefully; zero aborts it at once.
    pub(super) grace: Duration,
    /// The time for an aborted call to end.
    pub(super) patience: Duration,
}

/// The end of a bounded call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended<T> {
    /// The call returned before it was stopped for its limit.
    ByItself(T),
    /// The call returned after it was stopped for its limit.
    Stopped(T),
    /// The call ignored the stop for its limit and was dropped halfway.
    Dropped,
}

/// Awaits `call`, which must obey `stop`, a `Cancellation` for only this call.
///
/// At its limit the call is cancelled, then aborted, and still awaited; only a call that obeys neither
/// is dropped.
pub(super) async fn bounded<T>(
    mut call: impl Future<Output = T> + Unpin,
    stop: &Cancellation,
    bound: Bound,
) -> Ended<T> {
    tokio::select! {
        biased;
        value = &mut call => return Ended::ByItself(value),
        () = tokio::time::sleep(bound.limit) => {}
    }
    // The caller may have stopped it earlier; its result then belongs to that stop.
    let ended = if stop.is_canceled() {
        Ended::ByItself
    } else {
        Ended::Stopped
    };
    if !bound.grace.is_zero() {
        stop.cancel(CancelCause::Timeout);
        tokio::select! {
            biased;
            value = &mut call => return ended(value),
            () = tokio::time::sleep(bound.grace) => {}
        }
    }
    stop.abort(CancelCause::Timeout);
    tokio::select! {
        biased;
        value = &mut call => ended(value),
        () = tokio::time::sleep(bound.patience) => Ended::Dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::StopLevel;
    use tokio::time::Instant;

    const BOUND: Bound = Bound {
        limit: Duration::from_secs(10),
        grace: Duration::from_secs(5),
        patience: Duration::from_secs(2),
    };

    /// Awaits `call` and returns its end and its duration in seconds.
    async fn check<T>(call: impl Future<Output = T>, stop: &Cancellation) -> (Ended<T>, u64) {
        let start = Instant::now();
        let ended = bounded(Box::pin(call), stop, BOUND).await;
        (ended, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn call_within_the_limit_is_not_stopped() {
        let stop = Cancellation::new();
        let call = tokio::time::sleep(Duration::from_secs(9));
        assert_eq!(check(call, &stop).await, (Ended::ByItself(()), 9));
        assert!(!stop.is_canceled());
    }

    #[tokio::test(start_paused = true)]
    async fn call_beyond_the_limit_is_cancelled_then_aborted_then_dropped() {
        let stop = Cancellation::new();
        let obedient = async {
            stop.canceled().await;
            stop.level()
        };
        let expect = (Ended::Stopped(StopLevel::Cancel), 10);
        assert_eq!(check(obedient, &stop).await, expect);

        let stop = Cancellation::new();
        let slow = async {
            stop.aborted().await;
            stop.cause()
        };
        let expect = (Ended::Stopped(Some(CancelCause::Timeout)), 15);
        assert_eq!(check(slow, &stop).await, expect);

        let stop = Cancellation::new();
        let deaf = std::future::pending::<()>();
        assert_eq!(check(deaf, &stop).await, (Ended::Dropped, 17));
    }

    #[tokio::test(start_paused = true)]
    async fn aborts_at_once_without_grace() {
        let stop = Cancellation::new();
        let bound = Bound {
            grace: Duration::ZERO,
            ..BOUND
        };
        let start = Instant::now();
        let ended = bounded(Box::pin(stop.aborted()), &stop, bound).await;
        assert_eq!(
            (ended, start.elapsed()),
            (Ended::Stopped(CancelCause::Timeout), bound.limit)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn earlier_stop_counts_as_ended_by_itself() {
        let stop = Cancellation::new();
        stop.cancel(CancelCause::User);
        let slow = async {
            stop.aborted().await;
            stop.cause()
        };
        let expect = (Ended::ByItself(Some(CancelCause::User)), 15);
        assert_eq!(check(slow, &stop).await, expect);
    }
}
