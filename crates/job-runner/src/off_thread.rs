//! Runs blocking work outside the async worker threads, so that it delays no other job.

use std::io;
use tokio::task::spawn_blocking;

/// Runs `work` on a blocking thread and returns its result.
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
    async fn a_panic_is_an_error_without_its_words() {
        assert_eq!(off_thread(|| 1).await.expect("done"), 1);
        let error = off_thread(|| panic!("hunter2"))
            .await
            .expect_err("it panicked");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}
