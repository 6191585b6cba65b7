//! Asking a running process to stop.

use std::future::{Future, pending};

use executor_core::{Cancellation, StopLevel};

/// Notifies the owner of a process when the process must stop.
///
/// [`StopLevel::Cancel`] is SIGTERM to its group and SIGKILL when the grace is
/// over, [`StopLevel::Abort`] SIGKILL at once. [`Cancellation`] and [`NeverStop`]
/// implement it.
pub trait StopSignal: Sync {
    /// Completes once at least `level` is requested, at once if it already is.
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

impl StopSignal for Cancellation {
    async fn reached(&self, level: StopLevel) {
        match level {
            StopLevel::None => {}
            StopLevel::Cancel => {
                self.canceled().await;
            }
            StopLevel::Abort => {
                self.aborted().await;
            }
        }
    }
}

impl<S: StopSignal + ?Sized> StopSignal for &S {
    fn reached(&self, level: StopLevel) -> impl Future<Output = ()> + Send {
        (**self).reached(level)
    }
}
