use executor_core::{BuildError, Cancellation};
use std::time::Duration;

/// Rests between two tries.
///
/// # Errors
///
/// [`BuildError::Canceled`] when a stop is asked for, and at once then.
pub(crate) async fn rest(pause: Duration, cancellation: &Cancellation) -> Result<(), BuildError> {
    tokio::select! {
        () = tokio::time::sleep(pause) => {}
        () = cancellation.canceled() => {}
    }
    match cancellation.cause() {
        Some(cause) => Err(BuildError::Canceled(cause)),
        None => Ok(()),
    }
}
