//! Stopping a job, in two strengths.

use std::fmt;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Why something is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// Somebody asked for it.
    User,
    /// Its time is up.
    Timeout,
    /// The runner ends.
    Shutdown,
    /// Another job's failure makes it pointless.
    SiblingFailure,
    /// The side that handed out the job took it back.
    Source,
    /// The place it runs in is gone.
    EnvironmentLost,
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
        })
    }
}

/// How strongly something is to stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopLevel {
    /// It goes on.
    #[default]
    None,
    /// Gracefully: terminate, grace period, kill; what comes after the script still runs.
    Cancel,
    /// At once: kill, then nothing but cleanup.
    Abort,
}

/// A request to stop that travels down to whoever owns a wait.
///
/// Pass `&Cancellation` down and select on it only in the leaf that waits; everybody between awaits
/// that leaf, so that nothing is dropped half done. A child stops with its parent, not the other way
/// round. `abort` implies `cancel`. The first cause given stays.
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
    /// Returns one that nothing has stopped yet and that has no parent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns one that stops with this one and can be stopped alone.
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

    /// Returns one that is aborted with this one but does not see it cancelled.
    ///
    /// What comes after a cancelled script runs on such a child.
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

    /// Asks for a graceful stop.
    pub fn cancel(&self, cause: CancelCause) {
        self.note_cause(cause);
        self.cancel.cancel();
    }

    /// Asks for a stop at once.
    pub fn abort(&self, cause: CancelCause) {
        self.note_cause(cause);
        self.abort.cancel();
        self.cancel.cancel();
    }

    fn note_cause(&self, cause: CancelCause) {
        // Only the first cause explains the stop, so a later one is dropped.
        let _ = self.cause.cause.set(cause);
    }

    /// Returns how strongly to stop.
    pub fn level(&self) -> StopLevel {
        if self.abort.is_cancelled() {
            StopLevel::Abort
        } else if self.cancel.is_cancelled() {
            StopLevel::Cancel
        } else {
            StopLevel::None
        }
    }

    /// Returns whether a stop of either strength was asked for.
    pub fn is_canceled(&self) -> bool {
        self.level() != StopLevel::None
    }

    /// Returns whether a stop at once was asked for.
    pub fn is_aborted(&self) -> bool {
        self.level() == StopLevel::Abort
    }

    /// Returns why; `None` while nothing was asked for.
    pub fn cause(&self) -> Option<CancelCause> {
        if self.is_canceled() {
            self.cause.get()
        } else {
            None
        }
    }

    /// Waits until a stop of either strength is asked for.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn canceled(&self) {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.abort.cancelled() => {}
        }
    }

    /// Waits until a stop at once is asked for.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn aborted(&self) {
        self.abort.cancelled().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_stops_its_children_with_its_cause() {
        let parent = Cancellation::new();
        let child = parent.child();
        parent.cancel(CancelCause::Shutdown);
        assert_eq!(child.level(), StopLevel::Cancel);
        assert_eq!(child.cause(), Some(CancelCause::Shutdown));
    }

    #[test]
    fn finalisation_sees_abort_but_not_cancel() {
        let job = Cancellation::new();
        let finalisation = job.child_for_finalisation();
        job.cancel(CancelCause::User);
        assert!(!finalisation.is_canceled());
        assert_eq!(finalisation.cause(), None);
        job.abort(CancelCause::Shutdown);
        assert!(finalisation.is_aborted());
        assert!(finalisation.is_canceled());
    }

    #[tokio::test]
    async fn waiting_ends_with_the_request() {
        let job = Cancellation::new();
        let waits = job.child();
        tokio::join!(waits.canceled(), async { job.cancel(CancelCause::User) });
        assert_eq!(waits.level(), StopLevel::Cancel);
    }
}
