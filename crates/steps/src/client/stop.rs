use super::call::Attempts;
use super::error::StepsError;
use super::link::Link;
use super::run_id::RunId;
use crate::wire::v1::{self, cancel_request::Level};
use executor_core::Cancellation;
use tokio::time::Instant;

/// Tells the service when the request is to stop. It returns only when the service had its time after an abort and
/// the request has not ended.
pub(crate) async fn pass_on(link: &Link, id: &RunId, cancellation: &Cancellation) -> StepsError {
    let cause = cancellation.canceled().await;
    if !cancellation.is_aborted() {
        tokio::select! {
            () = tell(link, id, Level::Cancel) => {}
            _ = cancellation.aborted() => {}
        }
        cancellation.aborted().await;
    }
    let deadline = Instant::now() + link.options().abort_within;
    tokio::select! {
        () = async {
            tell(link, id, Level::Abort).await;
            std::future::pending::<()>().await;
        } => {}
        () = tokio::time::sleep_until(deadline) => {}
    }
    StepsError::Canceled(cause)
}

/// Who follows the log learns whether the service is lost, so that is not said twice.
async fn tell(link: &Link, id: &RunId, level: Level) {
    let request = v1::CancelRequest {
        id: id.as_str().to_owned(),
        level: level.into(),
    };
    let told = Attempts::new(link)
        .call(id.as_str(), &Cancellation::new(), |mut service| {
            let request = request.clone();
            async move { service.cancel(request).await }
        })
        .await;
    if let Err(error) = told {
        tracing::debug!(id = %id, %error, "A request could not be told to stop.");
    }
}
