//! The lines of a journal.

use super::continuation::ContinuationKind;
use crate::reuse::fingerprint::fingerprint;
use executor_core::{FailureReason, JobId, PipelineId, ReusedFrom, TestTotals};
use jiff::Timestamp;
use pipeline::Plan;
use scheduler::Status;
use scheduler::event::EVENT_VERSION;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The line for the start of an attempt of the run, the only one that is not an event.
///
/// It lists the jobs with their ids, so that a later attempt keeps those.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "run_begun")]
pub(super) struct Begun<'a> {
    v: u32,
    at: Timestamp,
    pipeline: PipelineId,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    continues: Option<&'a ContinuationKind>,
    sha: &'a str,
    plan: Vec<PlannedJob<'a>>,
}

/// A job of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlannedJob<'a> {
    pub(super) job: Cow<'a, str>,
    pub(super) stage: Cow<'a, str>,
    pub(super) id: JobId,
    /// A fingerprint of its definition.
    pub(super) definition: u64,
    /// Its variables of `parallel:matrix`.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub(super) matrix: Cow<'a, [(String, String)]>,
}

impl<'a> Begun<'a> {
    /// Returns the line of a run that starts now in this process.
    pub(super) fn new(plan: &'a Plan, continues: Option<&'a ContinuationKind>) -> Self {
        Self {
            v: EVENT_VERSION,
            at: Timestamp::now(),
            pipeline: plan.id(),
            pid: std::process::id(),
            continues,
            sha: &plan.context().commit.sha,
            plan: planned(plan),
        }
    }
}

/// Returns the jobs of a plan for the journal.
pub(super) fn planned(plan: &Plan) -> Vec<PlannedJob<'_>> {
    let jobs = plan.jobs().iter();
    let jobs = jobs.map(|job| PlannedJob {
        job: job.name().into(),
        stage: (&*job.definition.stage).into(),
        id: job.id,
        definition: fingerprint(&*job.definition),
        matrix: job.matrix().into(),
    });
    jobs.collect()
}

/// Any line, as far as a reader needs it. Flat, since that is fast to parse.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default)]
    pub(super) pipeline: Option<u64>,
    #[serde(default)]
    pub(super) at: Option<Timestamp>,
    #[serde(default)]
    pub(super) pid: Option<u32>,
    #[serde(default)]
    pub(super) continues: Option<ContinuationKind>,
    #[serde(default)]
    pub(super) sha: Option<String>,
    #[serde(default)]
    pub(super) plan: Vec<PlannedJob<'static>>,
    #[serde(default, borrow)]
    pub(super) job: Cow<'a, str>,
    #[serde(default)]
    pub(super) status: Option<Status>,
    #[serde(default)]
    pub(super) attempt: u32,
    #[serde(default)]
    pub(super) exit_code: Option<i32>,
    #[serde(default)]
    pub(super) failure_reason: Option<FailureReason>,
    #[serde(default)]
    pub(super) allow_failure: bool,
    #[serde(default)]
    pub(super) duration_ms: u64,
    #[serde(default)]
    pub(super) coverage: Option<f64>,
    #[serde(default)]
    pub(super) tests: Option<TestTotals>,
    #[serde(default)]
    pub(super) reused: Option<ReusedFrom>,
}
