use executor_core::{CancelCause, Cancellation};
use tokio::time::{Instant, sleep_until};

/// Awaits work that obeys `own`; when its time is up, that is told to stop, and the work awaited all
/// the same.
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
