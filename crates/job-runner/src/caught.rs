//! Turning a panic into an error, so that what follows still runs.

use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, JobTrace, Retryability, panics};

/// Awaits `work`; a panic in it becomes a system failure.
///
/// The panic's message goes to the job's log, where secrets are masked, and not into the error.
pub(crate) async fn caught<T>(
    trace: &dyn JobTrace,
    work: impl Future<Output = Result<T, BuildError>>,
) -> Result<T, BuildError> {
    // On the heap: the work of a whole job would be copied about otherwise.
    let polled = panics::catch_panic(Box::pin(work)).await;
    polled.unwrap_or_else(|panic| {
        trace.error_line(&format!("panic: {panic}"));
        Err(BuildError::System {
            backend: "runner",
            message: "the executor or the runner panicked".to_owned(),
            source: None,
            retry: Retryability::Permanent,
        })
    })
}
