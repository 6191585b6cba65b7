//! Requests to stop a running process.

use std::future::{Future, pending};

use executor_core::{Cancellation, StopLevel};

/// Tells when a process must stop.
///
/// [`StopLevel::Cancel`] is SIGTERM to its group and SIGKILL after the grace period, [`StopLevel::Abort`]
/// SIGKILL at once. [`Cancellation`] and [`NeverStop`] implement it.
pub trait StopSignal: Sync {
    /// Waits until at least `level` is requested.
    ///
    /// Several of these futures exist at the same time, and each may be dropped at any await.
    fn reached(&self, level: StopLevel) -> impl Future<Output = ()> + Send;
}

/// A stop signal that never comes.
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
