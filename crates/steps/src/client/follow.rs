use super::call::{Attempts, Failure, refusal};
use super::error::StepsError;
use super::link::Link;
use super::log_reader::LogReader;
use super::responses;
use super::run_status::{RunId, RunStatus};
use crate::wire::v1;
use executor_core::Cancellation;
use fail_point::fail_point;

/// Reads the log of a request to its end, over as many connections as necessary, and returns its final status.
pub(crate) async fn follow(
    link: &Link,
    id: &RunId,
    log: &mut LogReader<'_>,
) -> Result<RunStatus, StepsError> {
    let never = Cancellation::new();
    let mut attempts = Attempts::new(link);
    let mut ended_at = None;
    loop {
        let begin = log.offset();
        match follow_once(link, id, log, &mut attempts).await {
            Ok(()) => {}
            Err(Failure::Refused(status)) => return Err(refusal(&status, id.as_str())),
            Err(Failure::Gone(cause)) => {
                attempts.wait(cause, &never).await?;
                continue;
            }
        }
        let status = status(link, id).await?;
        let Some(result) = &status.result else {
            // A service that shuts down ends its streams without an error.
            attempts
                .wait("the log ended too early".into(), &never)
                .await?;
            continue;
        };
        let is_whole = result.log_bytes <= log.offset();
        if is_whole || (ended_at == Some(begin) && log.offset() == begin) {
            if !is_whole {
                tracing::warn!(id = %id, missing = result.log_bytes - log.offset(), "Lost the end of a log.");
            }
            log.finish();
            return Ok(status);
        }
        ended_at = Some(log.offset());
    }
}

async fn status(link: &Link, id: &RunId) -> Result<RunStatus, StepsError> {
    let request = v1::StatusRequest {
        id: id.as_str().to_owned(),
    };
    let answer = Attempts::new(link)
        .call(id.as_str(), &Cancellation::new(), |mut service| {
            let request = request.clone();
            async move { service.status(request).await }
        })
        .await?;
    let status = answer.jobs.into_iter().find(|job| job.id == id.as_str());
    status
        .map(responses::status)
        .ok_or_else(|| StepsError::Forgotten {
            id: id.as_str().to_owned(),
        })
}

/// Reads the log until it ends or the connection breaks.
async fn follow_once(
    link: &Link,
    id: &RunId,
    log: &mut LogReader<'_>,
    attempts: &mut Attempts<'_>,
) -> Result<(), Failure> {
    let request = v1::FollowLogsRequest {
        id: id.as_str().to_owned(),
        offset: i64::try_from(log.offset()).unwrap_or(i64::MAX),
    };
    let mut service = link.service();
    let mut pieces = attempts.once(service.follow_logs(request)).await?;
    attempts.retry.answered();
    let idle_after = link.options().idle_after;
    loop {
        // A fast sender must not starve other tasks.
        tokio::task::consume_budget().await;
        let next = pieces.message();
        let next = if log.is_idle() {
            next.await
        } else {
            let Ok(next) = tokio::time::timeout(idle_after, next).await else {
                log.idle();
                continue;
            };
            next
        };
        match fail_point!("steps::client::follow", next)? {
            Some(piece) => {
                attempts.retry.progressed();
                log.take(&piece);
            }
            None => return Ok(()),
        }
    }
}
