//! Turns a panic into an error, so that the later steps of the job still run.

use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, JobTrace, Retryability, panics};

/// Awaits `work` and turns a panic in it into a system failure.
///
/// The panic's message goes to the job's log, which masks secrets, and stays out of the error.
pub(crate) async fn caught<T>(
    trace: &dyn JobTrace,
    work: impl Future<Output = Result<T, BuildError>>,
) -> Result<T, BuildError> {
    // Boxed, because moving the future of a whole job copies it.
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
