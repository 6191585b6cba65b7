//! Requests to stop a job, gracefully or at once.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long work that must follow a job, such as its cleanup, may take although everything is to end at once.
pub const ABORT_GRACE: Duration = Duration::from_secs(5);

/// The reason for a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// The user requested it.
    User,
    /// A time limit passed.
    Timeout,
    /// The runner shuts down.
    Shutdown,
    /// Another job failed.
    SiblingFailure,
    /// The job's source withdrew the job.
    Source,
    /// The job's environment is gone.
    EnvironmentLost,
    /// The result is no longer needed.
    Unneeded,
}

impl fmt::Display for CancelCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "by the user",
            Self::Timeout => "because its time is up",
            Self::Shutdown => "because the runner stops",
            Self::SiblingFailure => "because another job failed",
            Self::Source => "by the job's source",
            Self::EnvironmentLost => "because its environment is gone",
            Self::Unneeded => "because its result is not needed",
        })
    }
}

/// The strength of a requested stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopLevel {
    /// No stop is requested.
    #[default]
    None,
    /// A graceful stop: terminate, grace period, kill; the stages after the script still run.
    Cancel,
    /// A stop at once: kill, then only cleanup.
    Abort,
}

/// A request to stop, passed down to the code that waits.
///
/// Pass `&Cancellation` down and select on it only in the leaf that waits. All callers await that
/// leaf to its end, so no work is dropped halfway. A child stops with its parent, but not the parent
/// with its child. `abort` implies `cancel`. A stop always has a cause, and the first one counts.
///
/// # Examples
///
/// ```
/// use executor_core::cancellation::{CancelCause, Cancellation, StopLevel};
///
/// let job = Cancellation::new();
/// let script = job.child();
/// script.cancel(CancelCause::Timeout);
/// assert_eq!(script.level(), StopLevel::Cancel);
/// assert_eq!(job.level(), StopLevel::None);
///
/// job.abort(CancelCause::User);
/// assert_eq!(script.level(), StopLevel::Abort);
/// assert_eq!(script.cause(), Some(CancelCause::Timeout));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cancellation {
    cancel: CancellationToken,
    abort: CancellationToken,
    cause: Arc<CauseCell>,
}

#[derive(Debug, Default)]
struct CauseCell {
    cause: OnceLock<CancelCause>,
    parent: Option<Arc<CauseCell>>,
}

impl CauseCell {
    fn get(&self) -> Option<CancelCause> {
        let mut cell = self;
        loop {
            if let Some(cause) = cell.cause.get() {
                return Some(*cause);
            }
            cell = cell.parent.as_deref()?;
        }
    }
}

impl Cancellation {
    /// Returns a cancellation without a parent and without a requested stop.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a child that stops with this cancellation and can be stopped alone.
    pub fn child(&self) -> Self {
        Self {
            cancel: self.cancel.child_token(),
            abort: self.abort.child_token(),
            cause: Arc::new(CauseCell {
                cause: OnceLock::new(),
                parent: Some(Arc::clone(&self.cause)),
            }),
        }
    }

    /// Returns a child that is aborted with this cancellation but not cancelled with it.
    ///
    /// The stages after a cancelled script run with such a child.
    pub fn child_for_finalisation(&self) -> Self {
        let abort = self.abort.child_token();
        Self {
            cancel: abort.child_token(),
            abort,
            cause: Arc::new(CauseCell {
                cause: OnceLock::new(),
                parent: Some(Arc::clone(&self.cause)),
            }),
        }
    }

    /// Requests a graceful stop.
    pub fn cancel(&self, cause: CancelCause) {
        self.note_cause(cause);
        self.cancel.cancel();
    }

    /// Requests a stop at once.
    pub fn abort(&self, cause: CancelCause) {
        self.note_cause(cause);
        self.abort.cancel();
        self.cancel.cancel();
    }

    fn note_cause(&self, cause: CancelCause) {
        // Only the first cause explains the stop, so a later one is dropped.
        let _ = self.cause.cause.set(cause);
    }

    /// Returns the strength of the requested stop.
    pub fn level(&self) -> StopLevel {
        if self.abort.is_cancelled() {
            StopLevel::Abort
        } else if self.cancel.is_cancelled() {
            StopLevel::Cancel
        } else {
            StopLevel::None
        }
    }

    /// Returns whether a stop of either strength is requested.
    pub fn is_canceled(&self) -> bool {
        self.level() != StopLevel::None
    }

    /// Returns whether a stop at once is requested.
    pub fn is_aborted(&self) -> bool {
        self.level() == StopLevel::Abort
    }

    /// Returns the cause of the requested stop; `None` while no stop is requested.
    pub fn cause(&self) -> Option<CancelCause> {
        self.is_canceled().then(|| self.known_cause())
    }

    /// Returns an error, the cause, when a stop of either strength is requested.
    ///
    /// The errors of this crate are made from a cause, so `cancellation.check()?` returns early.
    ///
    /// # Errors
    ///
    /// When a stop is requested.
    pub fn check(&self) -> Result<(), CancelCause> {
        self.cause().map_or(Ok(()), Err)
    }

    /// Waits until a stop of either strength is requested, and returns its cause.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn canceled(&self) -> CancelCause {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.abort.cancelled() => {}
        }
        self.known_cause()
    }

    /// Waits until a stop at once is requested, and returns the cause of the stop.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn aborted(&self) -> CancelCause {
        self.abort.cancelled().await;
        self.known_cause()
    }

    /// Waits for work that no stop interrupts, such as a cleanup; `None` after an abort, once the work has had `grace`.
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops the work.
    pub async fn unless_aborted<T>(
        &self,
        grace: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let earliest = Instant::now() + grace;
        let aborted = async {
            self.aborted().await;
            sleep_until(earliest).await;
        };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = aborted => None,
        }
    }

    fn known_cause(&self) -> CancelCause {
        let cause = self.cause.get();
        cause.expect("`cancel` and `abort` store the cause before they stop a token")
    }
}

/// The cancellation of a whole job; part of the [`ExecutorData`](crate::ExecutorData) of a `create`.
///
/// For an executor whose `cleanup` is shorter after an abort. `prepare` and the stages before the user's scripts have a child of it that
/// is aborted already when the job is canceled, as nothing there ends gracefully.
#[derive(Debug, Clone)]
pub struct JobStop(pub Cancellation);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn abort_leaves_work_the_rest_of_its_grace() {
        let seconds = Duration::from_secs;
        let check = async |work, aborted_after, expect: Option<()>, ends_after| {
            let job = Cancellation::new();
            job.cancel(CancelCause::User);
            let started = Instant::now();
            let abort = async {
                tokio::time::sleep(seconds(aborted_after)).await;
                job.abort(CancelCause::User);
            };
            let work = job.unless_aborted(ABORT_GRACE, tokio::time::sleep(seconds(work)));
            let ended = async { (work.await, started.elapsed().as_secs()) };
            let (ended, ()) = tokio::join!(ended, abort);
            assert_eq!(ended, (expect, ends_after), "{aborted_after}");
        };
        check(20, 30, Some(()), 20).await;
        check(20, 10, None, 10).await;
        check(20, 1, None, 5).await;
        check(3, 1, Some(()), 3).await;
    }

    #[test]
    fn child_stops_with_its_parents_cause() {
        let parent = Cancellation::new();
        let child = parent.child();
        parent.cancel(CancelCause::Shutdown);
        assert_eq!(child.level(), StopLevel::Cancel);
        assert_eq!(child.cause(), Some(CancelCause::Shutdown));
        assert_eq!(child.check(), Err(CancelCause::Shutdown));
    }

    #[test]
    fn finalisation_sees_abort_but_not_cancel() {
        let job = Cancellation::new();
        let finalisation = job.child_for_finalisation();
        job.cancel(CancelCause::User);
        assert!(!finalisation.is_canceled());
        assert_eq!(finalisation.check(), Ok(()));
        job.abort(CancelCause::Shutdown);
        assert!(finalisation.is_aborted());
        assert!(finalisation.is_canceled());
    }

    #[tokio::test]
    async fn wait_ends_when_a_stop_is_requested() {
        let job = Cancellation::new();
        let waits = job.child();
        let (cause, ()) = tokio::join!(waits.canceled(), async { job.cancel(CancelCause::User) });
        assert_eq!(cause, CancelCause::User);
        assert_eq!(waits.level(), StopLevel::Cancel);
    }
}
