//! Turns panics into errors, so that the later stages of a job still run.

use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, JobTrace, Retryability, panics};
use std::io;
use tokio::task::spawn_blocking;

/// Awaits `work` and turns a panic in it into a system failure.
///
/// The panic's message goes to the job's log, which masks secrets, and stays out of the error.
pub(crate) async fn catch_panic<T>(
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

/// Runs blocking `work` on its own thread, where it delays no other job, and returns its result.
///
/// # Errors
///
/// When the work panics, or the runtime shuts down before it starts. The error omits the panic's
/// message, because nothing masks secrets there.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let done = spawn_blocking(work).await;
    done.map_err(|error| match error.try_into_panic() {
        Ok(_) => io::Error::other("the work panicked"),
        Err(canceled) => io::Error::other(canceled),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_becomes_an_error_without_its_message() {
        assert_eq!(off_thread(|| 1).await.expect("done"), 1);
        let error = off_thread(|| panic!("hunter2"))
            .await
            .expect_err("it panicked");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}
