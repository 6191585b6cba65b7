use super::Status;
use super::conductor::Conductor;
use super::downstream::{Bridge, DownstreamPipeline};
use super::queue::{PendingBridge, Queue};
use crate::report::{ChildReport, PipelineReport, RunExit};
use executor_core::{BuildError, CancelCause, FailureReason, JobOutcome, Retryability};
use pipeline::config::Strategy;
use serde_json::Value;
use std::pin::Pin;
use std::sync::Arc;
use tokio::task::JoinSet;

/// Starts the pipeline that a job starts, runs it to its end, and says how the job ends.
///
/// The future is boxed: otherwise its type would be a part of itself, since pipelines start pipelines.
pub(super) fn cross(
    conductor: Conductor,
    queue: Arc<Queue>,
    pending: PendingBridge,
) -> Pin<Box<dyn Future<Output = Option<ChildReport>> + Send>> {
    Box::pin(async move { run(&conductor, &queue, &pending).await })
}

async fn run(conductor: &Conductor, queue: &Queue, pending: &PendingBridge) -> Option<ChildReport> {
    let (job, cancellation) = (pending.assignment.job.id, &pending.assignment.cancellation);
    let strategy = strategy_of(
        pending
            .assignment
            .job
            .definition
            .as_deref()?
            .trigger
            .as_deref(),
    );
    let started = create(conductor, pending).await;
    let started = match started {
        Ok(started) => started,
        Err(error) => {
            queue.finished(job, &JobOutcome::from_error(error));
            return None;
        }
    };
    let project = started.parent.project.clone();
    if strategy.is_none() {
        succeed(conductor, pending).await;
        queue.finished(job, &JobOutcome::success());
    }
    let stop = cancellation.child();
    let child = conductor.child(started);
    let concluded = child.conduct(&stop).await;
    let report = concluded.into_report(&stop, stop.is_canceled(), None);
    if let Some(strategy) = strategy {
        if ending(strategy, report.status) == Status::Success {
            succeed(conductor, pending).await;
        }
        follow(queue, pending, strategy, &report);
    }
    Some(ChildReport {
        job: queue.plan.jobs()[pending.index].name().to_owned(),
        project: project.map(|project| project.to_string()),
        report,
    })
}

/// Tells whoever creates pipelines that a job ended well which started one.
async fn succeed(conductor: &Conductor, pending: &PendingBridge) {
    if let Some(downstream) = &conductor.downstream {
        downstream.succeeded(&pending.assignment.job).await;
    }
}

/// Returns what `trigger:strategy` says; the file was checked before.
fn strategy_of(trigger: Option<&Value>) -> Option<Strategy> {
    match trigger?.get("strategy")?.as_str()? {
        "depend" => Some(Strategy::Depend),
        "mirror" => Some(Strategy::Mirror),
        _ => None,
    }
}

/// Asks for the pipeline of a job, on a task of its own, so that a panic ends the job and no more.
async fn create(
    conductor: &Conductor,
    pending: &PendingBridge,
) -> Result<DownstreamPipeline, BuildError> {
    let Some(downstream) = conductor.downstream.clone() else {
        return Err(BuildError::Downstream {
            reason: FailureReason::DownstreamPipelineCreationFailed,
            message: "nobody starts other pipelines here".to_owned(),
        });
    };
    let assignment = &pending.assignment;
    let bridge = Bridge {
        plan: Arc::clone(&conductor.plan),
        index: pending.index,
        job: Arc::clone(&assignment.job),
        attempt: assignment.attempt,
        dotenv: pending.dotenv.clone(),
        observer: Arc::clone(&assignment.observer),
    };
    let cancellation = assignment.cancellation.clone();
    let mut task = JoinSet::new();
    task.spawn(async move { downstream.create(bridge, &cancellation).await });
    match task.join_next().await {
        Some(Ok(created)) => created,
        Some(Err(panic)) => Err(BuildError::System {
            backend: "pipeline",
            message: "the creation of the downstream pipeline panicked".to_owned(),
            source: Some(panic.into()),
            retry: Retryability::Permanent,
        }),
        None => Err(BuildError::Canceled(CancelCause::Shutdown)),
    }
}

/// Ends a job as the pipeline ended that it waited for.
fn follow(queue: &Queue, pending: &PendingBridge, strategy: Strategy, report: &PipelineReport) {
    let job = pending.assignment.job.id;
    let outcome = match ending(strategy, report.status) {
        Status::Success => JobOutcome::success(),
        Status::Failed => JobOutcome::from_error(failure(report)),
        Status::Canceled => JobOutcome::from_error(BuildError::Canceled(CancelCause::Source)),
        status => return queue.leave(pending.index, status),
    };
    queue.finished(job, &outcome);
}

/// Returns the status of a job that waited for a pipeline which ended in this one.
///
/// `depend` knows success, failure and cancellation, and a pipeline that did nothing did not do what
/// was wanted. One that waits for somebody leaves the job waiting for the same.
fn ending(strategy: Strategy, status: Status) -> Status {
    match (strategy, status) {
        (Strategy::Depend, Status::Skipped) => Status::Failed,
        (_, status) if status.is_final() => status,
        (_, Status::Canceling) => Status::Canceled,
        _ => Status::Manual,
    }
}

/// Returns why a job failed whose pipeline did not succeed.
fn failure(report: &PipelineReport) -> BuildError {
    let PipelineReport { id, status, .. } = report;
    let message = format!("the pipeline {id} that it started ended as {status}");
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
    fn the_strategy_says_what_an_end_means() {
        use Status::{Canceled, Failed, Manual, Scheduled, Skipped, Success};
        let check = |status, depend, mirror| {
            assert_eq!(ending(Strategy::Depend, status), depend, "{status}");
            assert_eq!(ending(Strategy::Mirror, status), mirror, "{status}");
        };
        check(Success, Success, Success);
        check(Failed, Failed, Failed);
        check(Canceled, Canceled, Canceled);
        check(Skipped, Failed, Skipped);
        check(Manual, Manual, Manual);
        check(Scheduled, Manual, Manual);
    }
}
