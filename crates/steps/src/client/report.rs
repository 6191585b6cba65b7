use super::call::{Attempts, Failure};
use super::link::Link;
use super::run_id::RunId;
use super::step_report::{StepReport, StepReports, StepState};
use crate::wire::v1;
use tokio::time::timeout;

/// Tells what became of the steps of a request that has ended. What cannot be had is not told.
pub(crate) async fn report(link: &Link, id: &RunId, reports: &StepReports) {
    let limit = link.options().call_timeout;
    match timeout(limit, report_all(link, id, reports)).await {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            tracing::debug!(id = %id, ?failure, "What became of steps is not known.");
        }
        Err(_) => tracing::debug!(id = %id, "What became of steps is not known in time."),
    }
}

async fn report_all(link: &Link, id: &RunId, reports: &StepReports) -> Result<(), Failure> {
    let request = v1::FollowStepsRequest {
        id: id.as_str().to_owned(),
    };
    let mut service = link.service();
    let mut answers = Attempts::new(link)
        .once(service.follow_steps(request))
        .await?;
    while let Some(answer) = answers.message().await? {
        // Whoever always has something to say is not to keep others from their turn.
        tokio::task::consume_budget().await;
        let report = StepReport::from(answer.result.unwrap_or_default());
        if report.status != StepState::Running {
            reports(report);
        }
    }
    Ok(())
}
