//! Time limits that stop work without dropping it.

use executor_core::{BuildError, CancelCause, Cancellation, StopLevel};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// A moment at which a cancellation is stopped because a timeout passed.
#[derive(Debug, Clone)]
pub(crate) struct Limit {
    pub(crate) at: Instant,
    pub(crate) stops: Cancellation,
    pub(crate) level: StopLevel,
    pub(crate) expired: Expired,
}

/// A phase and its timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expired {
    pub(crate) phase: &'static str,
    pub(crate) limit: Duration,
}

impl Limit {
    fn reached(&self) {
        match self.level {
            StopLevel::None => {}
            StopLevel::Cancel => self.stops.cancel(CancelCause::Timeout),
            StopLevel::Abort => self.stops.abort(CancelCause::Timeout),
        }
    }
}

/// Awaits `work`, which must react to the cancellations of the limits and is never dropped.
///
/// When a limit stopped the work, the error names the limit.
pub(crate) fn within<T>(
    work: impl Future<Output = Result<T, BuildError>>,
    limits: Vec<Limit>,
) -> impl Future<Output = Result<T, BuildError>> {
    // Boxed outside the `async fn`, which would store the work twice: as its argument and pinned.
    // These calls nest, and each would double the size of a job's future.
    within_boxed(Box::pin(work), limits)
}

async fn within_boxed<T>(
    mut work: Pin<Box<impl Future<Output = Result<T, BuildError>>>>,
    mut limits: Vec<Limit>,
) -> Result<T, BuildError> {
    limits.sort_by_key(|limit| limit.at);
    let mut first = None;
    for limit in &limits {
        tokio::select! {
            biased;
            result = &mut work => return result.map_err(|error| name_timeout(error, first)),
            () = sleep_until(limit.at) => {
                // An earlier stop is the reason, not this limit.
                if !limit.stops.is_canceled() {
                    first.get_or_insert(limit.expired);
                }
                limit.reached();
            }
        }
    }
    work.await.map_err(|error| name_timeout(error, first))
}

/// Awaits `work`; while it runs, a cancelled `job` aborts `setup`.
///
/// Before the user's scripts start there is nothing to end gracefully.
pub(crate) fn abort_when_canceled<T>(
    work: impl Future<Output = T>,
    job: &Cancellation,
    setup: &Cancellation,
) -> impl Future<Output = T> {
    let mut work = Box::pin(work);
    async move {
        tokio::select! {
            biased;
            output = &mut work => return output,
            cause = job.canceled() => setup.abort(cause),
        }
        work.await
    }
}

/// Awaits `work`, and aborts `own`, to which it reacts, at this moment.
pub(crate) async fn abort_at<T>(
    work: impl Future<Output = T>,
    at: Instant,
    own: &Cancellation,
) -> T {
    let mut work = Box::pin(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = sleep_until(at) => own.abort(CancelCause::Timeout),
    }
    work.await
}

/// Replaces a cancel because of a timeout by the error that names the timeout.
fn name_timeout(error: BuildError, expired: Option<Expired>) -> BuildError {
    match (error, expired) {
        (BuildError::Canceled(CancelCause::Timeout), Some(Expired { phase, limit })) => {
            BuildError::Timeout { phase, limit }
        }
        (error, _) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(stops: &Cancellation, seconds: u64, phase: &'static str) -> Limit {
        let limit = Duration::from_secs(seconds);
        Limit {
            at: Instant::now() + limit,
            stops: stops.clone(),
            level: StopLevel::Cancel,
            expired: Expired { phase, limit },
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nearest_limit_stops_the_work_and_is_named() {
        let job = Cancellation::new();
        let limits = vec![limit(&job, 20, "execution"), limit(&job, 10, "script")];
        let work = async {
            job.canceled().await;
            Err::<(), _>(BuildError::Canceled(CancelCause::Timeout))
        };
        let error = within(work, limits).await.expect_err("it was stopped");
        assert!(
            matches!(
                error,
                BuildError::Timeout {
                    phase: "script",
                    ..
                }
            ),
            "{error}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn cancel_is_not_a_timeout() {
        let job = Cancellation::new();
        job.cancel(CancelCause::User);
        let work = async {
            tokio::time::sleep(Duration::from_secs(30)).await;
            Err::<(), _>(BuildError::Canceled(CancelCause::User))
        };
        let error = within(work, vec![limit(&job, 10, "script")])
            .await
            .expect_err("it was stopped");
        assert!(
            matches!(error, BuildError::Canceled(CancelCause::User)),
            "{error}"
        );
    }
}
