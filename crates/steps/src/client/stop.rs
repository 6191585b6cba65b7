use super::call::Attempts;
use super::error::StepsError;
use super::link::Link;
use super::run_status::RunId;
use crate::wire::v1::{self, cancel_request::Level};
use executor_core::Cancellation;
use tokio::time::Instant;

/// Passes a cancellation to the service. Returns only if the request has not ended within the time limit after an
/// abort.
pub(crate) async fn pass_on(link: &Link, id: &RunId, cancellation: &Cancellation) -> StepsError {
    let cause = cancellation.canceled().await;
    if !cancellation.is_aborted() {
        tokio::select! {
            () = send_stop(link, id, Level::Cancel) => {}
            _ = cancellation.aborted() => {}
        }
        cancellation.aborted().await;
    }
    let deadline = Instant::now() + link.options().abort_within;
    tokio::select! {
        () = async {
            send_stop(link, id, Level::Abort).await;
            std::future::pending::<()>().await;
        } => {}
        () = tokio::time::sleep_until(deadline) => {}
    }
    StepsError::Canceled(cause)
}

/// A failure is only logged: the follower of the log reports a lost service.
async fn send_stop(link: &Link, id: &RunId, level: Level) {
    let request = v1::CancelRequest {
        id: id.as_str().to_owned(),
        level: level.into(),
    };
    let sent = Attempts::new(link)
        .call(id.as_str(), &Cancellation::new(), |mut service| {
            let request = request.clone();
            async move { service.cancel(request).await }
        })
        .await;
    if let Err(error) = sent {
        tracing::debug!(id = %id, %error, "Could not stop a request.");
    }
}
