//! Work that blocks, where it holds up no other job.

use std::io;
use tokio::task::spawn_blocking;

/// Does `work` on a thread for blocking work and returns what it returned.
///
/// # Errors
///
/// When the work panicked, or the runtime shuts down before it began. A panic's message is not in
/// the error, because nothing masks secrets there.
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
