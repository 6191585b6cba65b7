//! How a job's cancellation reaches its processes.

use executor_core::{CancelCause, Cancellation};
use process::{StopLevel, StopSignal};

/// A cancellation in the words of `process`: `cancel` terminates, `abort` kills.
pub(crate) struct Stop<'a>(pub(crate) &'a Cancellation);

impl StopSignal for Stop<'_> {
    async fn reached(&self, level: StopLevel) {
        match level {
            StopLevel::Run => {}
            StopLevel::Terminate => self.0.canceled().await,
            StopLevel::Kill => self.0.aborted().await,
        }
    }
}

/// Returns why something that was stopped was stopped.
pub(crate) fn cause(cancellation: &Cancellation) -> CancelCause {
    cancellation.cause().unwrap_or(CancelCause::User)
}
