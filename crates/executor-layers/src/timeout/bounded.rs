//! Awaiting a call that may take only so long, without dropping it in the middle.

use executor_core::{CancelCause, Cancellation};
use std::time::Duration;

/// How long a call may take, and how it is stopped when it takes longer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    /// How long it may take.
    pub(super) limit: Duration,
    /// How long a cancelled call has to end gracefully; zero aborts it at once.
    pub(super) grace: Duration,
    /// How long an aborted call has to end.
    pub(super) patience: Duration,
}

/// How such a call ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended<T> {
    /// It returned before anybody stopped it for its limit.
    ByItself(T),
    /// It returned after it was stopped, because its time was up.
    Stopped(T),
    /// It did not obey and was dropped in the middle, because its time was up.
    Dropped,
}

/// Awaits `call`, which must obey `stop`, a `Cancellation` for this call alone.
///
/// When time is up it is cancelled, then aborted, and awaited all the while; only a call that obeys
/// neither is dropped.
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
    // Somebody may have stopped it before, and what it says then is about that.
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

    /// Awaits `call` and returns how it ended and after how many seconds.
    async fn check<T>(call: impl Future<Output = T>, stop: &Cancellation) -> (Ended<T>, u64) {
        let start = Instant::now();
        let ended = bounded(Box::pin(call), stop, BOUND).await;
        (ended, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn what_returns_in_time_is_not_stopped() {
        let stop = Cancellation::new();
        let call = tokio::time::sleep(Duration::from_secs(9));
        assert_eq!(check(call, &stop).await, (Ended::ByItself(()), 9));
        assert!(!stop.is_canceled());
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_longer_is_cancelled_then_aborted_then_dropped() {
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
    async fn without_grace_it_is_aborted_at_once() {
        let stop = Cancellation::new();
        let bound = Bound {
            grace: Duration::ZERO,
            ..BOUND
        };
        let start = Instant::now();
        let ended = bounded(Box::pin(stop.aborted()), &stop, bound).await;
        assert_eq!((ended, start.elapsed()), (Ended::Stopped(()), bound.limit));
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_stopped_before_its_time_was_up_ended_by_itself() {
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
