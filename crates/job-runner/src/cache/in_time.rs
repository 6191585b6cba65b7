use executor_core::{CancelCause, Cancellation};
use tokio::time::{Instant, sleep_until};

/// Awaits `work`, which obeys `own`. At the deadline `own` is cancelled, and `work` is still awaited.
pub(super) async fn in_time<T>(
    work: impl Future<Output = T>,
    until: Instant,
    own: &Cancellation,
) -> T {
    let mut work = Box::pin(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = sleep_until(until) => own.abort(CancelCause::Timeout),
    }
    work.await
}
