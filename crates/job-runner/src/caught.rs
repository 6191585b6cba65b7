//! Turning a panic into an error, so that what follows still runs.

use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, JobTrace, Retryability};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// Awaits `work`; a panic in it becomes a system failure.
///
/// The panic's message goes to the job's log, where secrets are masked, and not into the error.
pub(crate) fn caught<T>(
    trace: &dyn JobTrace,
    work: impl Future<Output = Result<T, BuildError>>,
) -> impl Future<Output = Result<T, BuildError>> {
    caught_boxed(trace, Box::pin(work))
}

async fn caught_boxed<T>(
    trace: &dyn JobTrace,
    mut work: Pin<Box<impl Future<Output = Result<T, BuildError>>>>,
) -> Result<T, BuildError> {
    let polled = std::future::poll_fn(|context| {
        // The work is not polled again after a panic, so nobody sees its broken state.
        match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    });
    polled.await.unwrap_or_else(|panic| {
        trace.error_line(&format!("panic: {}", message(&*panic)));
        Err(BuildError::System {
            backend: "runner",
            message: "the executor or the runner panicked".to_owned(),
            source: None,
            retry: Retryability::Permanent,
        })
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message")
}
