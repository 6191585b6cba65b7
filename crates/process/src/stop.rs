//! Asking a running process to stop.

use std::future::{Future, pending};

use tokio::sync::watch;

/// How strongly a process is asked to stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopLevel {
    /// Not at all.
    #[default]
    Run,
    /// SIGTERM to its group, SIGKILL when the grace is over.
    Terminate,
    /// SIGKILL at once.
    Kill,
}

/// Tells the one who waits for a process that it shall stop.
///
/// The level only ever rises. [`watch::Receiver<StopLevel>`] and [`NeverStop`]
/// implement it; wrap a cancellation type of your own in a newtype:
///
/// ```
/// use process::{StopLevel, StopSignal};
/// # struct Token;
/// # impl Token { async fn cancelled(&self) {} async fn aborted(&self) {} }
/// struct Stop<'a>(&'a Token);
///
/// impl StopSignal for Stop<'_> {
///     async fn reached(&self, level: StopLevel) {
///         match level {
///             StopLevel::Run => {}
///             StopLevel::Terminate => self.0.cancelled().await,
///             StopLevel::Kill => self.0.aborted().await,
///         }
///     }
/// }
/// ```
pub trait StopSignal: Sync {
    /// Completes once at least `level` is asked for, at once if it already is.
    ///
    /// Never completes if that cannot happen any more. Several of these futures
    /// are alive at the same time, and each may be dropped at any await.
    fn reached(&self, level: StopLevel) -> impl Future<Output = ()> + Send;
}

/// A signal that never comes.
#[derive(Debug, Clone, Copy, Default)]
pub struct NeverStop;

impl StopSignal for NeverStop {
    async fn reached(&self, _level: StopLevel) {
        pending::<()>().await;
    }
}

impl StopSignal for watch::Receiver<StopLevel> {
    async fn reached(&self, level: StopLevel) {
        let mut receiver = self.clone();
        if receiver
            .wait_for(|current| *current >= level)
            .await
            .is_err()
        {
            // The sender is gone, so nobody can ask any more.
            pending::<()>().await;
        }
    }
}

impl<S: StopSignal + ?Sized> StopSignal for &S {
    fn reached(&self, level: StopLevel) -> impl Future<Output = ()> + Send {
        (**self).reached(level)
    }
}
