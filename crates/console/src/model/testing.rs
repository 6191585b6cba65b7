//! Events for the tests of views.

use super::{Change, RunModel};
use executor_core::PipelineId;
use scheduler::Status;
use scheduler::event::{EventKind, JobNode, ParentJob, PipelineEvent};
use std::sync::Arc;
use std::time::Instant;

/// Returns a job of a graph; `needs` is a list of names, or `None`.
pub(crate) fn node(job: &str, stage: &str, needs: Option<&[&str]>) -> JobNode {
    let needs = needs.map(|needs| needs.iter().map(|&name| name.into()).collect());
    JobNode {
        job: job.into(),
        stage: stage.into(),
        needs,
    }
}

/// Returns an event of a pipeline.
pub(crate) fn event(pipeline: u64, kind: EventKind) -> PipelineEvent {
    PipelineEvent {
        v: 1,
        seq: 1,
        at: "2026-11-22T10:00:00Z".parse().expect("a time"),
        pipeline: PipelineId(pipeline),
        kind,
    }
}

/// Returns the event that starts a pipeline.
pub(crate) fn started(graph: Vec<JobNode>, parent: Option<ParentJob>) -> EventKind {
    EventKind::PipelineStarted {
        jobs: graph.iter().map(|node| Arc::clone(&node.job)).collect(),
        graph,
        parent,
    }
}

/// Returns the event that sets the status of a job.
pub(crate) fn status(job: &str, status: Status, attempt: u32) -> EventKind {
    EventKind::JobStatus {
        job: job.into(),
        stage: "x".into(),
        status,
        attempt,
        until: None,
    }
}

/// Returns a run of pipeline 1 with these jobs.
pub(crate) fn start(graph: Vec<JobNode>, now: Instant) -> RunModel {
    let mut run = RunModel::default();
    run.apply(&event(1, started(graph, None)), || now);
    run
}

/// Starts a pipeline for a job of another one.
pub(crate) fn start_child(
    run: &mut RunModel,
    pipeline: u64,
    parent: u64,
    job: &str,
    graph: Vec<JobNode>,
) {
    let parent = ParentJob {
        pipeline: PipelineId(parent),
        job: job.into(),
        project: None,
    };
    run.apply(&event(pipeline, started(graph, Some(parent))), Instant::now);
}

/// Sets the status of a job of pipeline 1.
pub(crate) fn set_status(run: &mut RunModel, job: &str, to: Status, now: Instant) {
    run.apply(&event(1, status(job, to, 1)), || now);
}

/// Sets the status of a job, and returns what changed.
pub(crate) fn apply(run: &mut RunModel, pipeline: u64, job: &str, to: Status) -> Change<'static> {
    match run.apply(&event(pipeline, status(job, to, 1)), Instant::now) {
        Change::Status { job, status } => Change::Status { job, status },
        _ => Change::None,
    }
}
