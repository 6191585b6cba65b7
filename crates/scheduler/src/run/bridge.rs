//! Jobs that start a downstream pipeline.

use super::downstream::{Bridge, Downstream, DownstreamPipeline};
use super::message::{JobKey, Message};
use super::worker_link::Attempt;
use crate::Status;
use crate::report::{PipelineReport, RunExit};
use executor_core::job::Job;
use executor_core::panics::catch_panic;
use executor_core::{
    BuildError, CancelCause, Cancellation, FailureReason, JobOutcome, Retryability,
};
use pipeline::config::Strategy;
use serde_json::Value;
use std::sync::Arc;

/// A bridge whose pipeline is being created or runs.
#[derive(Debug)]
pub(super) struct OpenBridge {
    pub(super) key: JobKey,
    job: Arc<Job>,
    /// Stops the downstream pipeline.
    pub(super) cancellation: Cancellation,
    /// How the bridge follows the pipeline; `None` means that it does not wait for it.
    pub(super) strategy: Option<Strategy>,
    /// The project of the pipeline, if that is another one.
    pub(super) project: Option<Arc<str>>,
    /// Creates the pipeline.
    downstream: Option<Arc<dyn Downstream>>,
}

/// Creates the downstream pipeline of a bridge. A bridge that does not wait succeeds with that.
pub(super) async fn create(
    key: JobKey,
    attempt: Attempt,
    downstream: Option<Arc<dyn Downstream>>,
) -> Message {
    let plan = Arc::clone(&attempt.plan);
    let dotenv = attempt.reported.clone();
    let assignment = attempt.into_assignment();
    let definition = assignment.job.definition.as_deref();
    let trigger = definition.and_then(|definition| definition.trigger.as_deref());
    let bridge = OpenBridge {
        key,
        job: Arc::clone(&assignment.job),
        cancellation: assignment.cancellation,
        strategy: strategy_of(trigger),
        project: None,
        downstream,
    };
    let request = Bridge {
        plan,
        index: key.index,
        job: Arc::clone(&bridge.job),
        attempt: assignment.attempt,
        dotenv,
        observer: assignment.observer,
    };
    let created = bridge.create(request).await;
    if created.is_ok() && bridge.strategy.is_none() {
        bridge.report_success().await;
    }
    Message::DownstreamCreated {
        bridge: Box::new(bridge),
        created: created.map(Box::new),
    }
}

/// Reports to the port that a bridge which waited for its pipeline succeeded.
pub(super) async fn succeed(bridge: Box<OpenBridge>, report: Box<PipelineReport>) -> Message {
    bridge.report_success().await;
    Message::BridgeSucceeded { bridge, report }
}

impl OpenBridge {
    async fn create(&self, request: Bridge) -> Result<DownstreamPipeline, BuildError> {
        let Some(downstream) = &self.downstream else {
            return Err(BuildError::Downstream {
                reason: FailureReason::DownstreamPipelineCreationFailed,
                message: "downstream pipelines are not supported here".to_owned(),
            });
        };
        let created = catch_panic(downstream.create(request, &self.cancellation)).await;
        created.unwrap_or_else(|panic| {
            Err(BuildError::System {
                backend: "pipeline",
                message: "the creation of the downstream pipeline panicked".to_owned(),
                source: Some(panic.to_string().into()),
                retry: Retryability::Permanent,
            })
        })
    }

    async fn report_success(&self) {
        if let Some(downstream) = &self.downstream
            && let Err(panic) = catch_panic(downstream.succeeded(&self.job)).await
        {
            tracing::error!(%panic, "The success of a bridge was not noted.");
        }
    }
}

/// Reads `trigger:strategy`, whose value was checked with the file.
fn strategy_of(trigger: Option<&Value>) -> Option<Strategy> {
    match trigger?.get("strategy")?.as_str()? {
        "depend" => Some(Strategy::Depend),
        "mirror" => Some(Strategy::Mirror),
        _ => None,
    }
}

/// Returns the status of a bridge whose pipeline ended with this status.
///
/// `depend` knows success, failure and cancellation, and a pipeline that ran no job is a failure. A
/// bridge whose pipeline waits for the user waits as well.
pub(super) fn status_after(strategy: Strategy, status: Status) -> Status {
    match (strategy, status) {
        (Strategy::Depend, Status::Skipped) => Status::Failed,
        (_, status) if status.is_final() => status,
        (_, Status::Canceling) => Status::Canceled,
        _ => Status::Manual,
    }
}

/// Returns the outcome of a bridge for a status; `None` for a status that no outcome has.
pub(super) fn outcome_of(status: Status, report: &PipelineReport) -> Option<JobOutcome> {
    match status {
        Status::Success => Some(JobOutcome::success()),
        Status::Failed => Some(JobOutcome::from_error(failure(report))),
        Status::Canceled => Some(JobOutcome::from_error(BuildError::Canceled(
            CancelCause::Source,
        ))),
        _ => None,
    }
}

/// Returns the error of a bridge whose pipeline did not succeed.
fn failure(report: &PipelineReport) -> BuildError {
    let PipelineReport { id, status, .. } = report;
    let message = format!("the downstream pipeline {id} ended with status {status}");
    if report.exit == RunExit::Environment {
        return BuildError::System {
            backend: "pipeline",
            message,
            source: None,
            retry: Retryability::Permanent,
        };
    }
    BuildError::Downstream {
        reason: FailureReason::DownstreamPipelineFailed,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategy_maps_the_status_of_the_downstream_pipeline() {
        use Status::{Canceled, Failed, Manual, Scheduled, Skipped, Success};
        let check = |status, depend, mirror| {
            assert_eq!(status_after(Strategy::Depend, status), depend, "{status}");
            assert_eq!(status_after(Strategy::Mirror, status), mirror, "{status}");
        };
        check(Success, Success, Success);
        check(Failed, Failed, Failed);
        check(Canceled, Canceled, Canceled);
        check(Skipped, Failed, Skipped);
        check(Manual, Manual, Manual);
        check(Scheduled, Manual, Manual);
    }
}
