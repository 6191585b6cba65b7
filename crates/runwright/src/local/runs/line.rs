//! The lines of a journal.

use super::continuation::ContinuationKind;
use executor_core::{FailureReason, JobId, PipelineId, TestTotals};
use jiff::Timestamp;
use pipeline::event::EVENT_VERSION;
use pipeline::{Plan, Status};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::hash::Hasher as _;
use std::io;

/// The line that no event stands behind: the run begins, for the first time or again.
///
/// It says which jobs there are, under which ids, so that they keep those.
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
    /// A fingerprint of what the file says of it.
    pub(super) definition: u64,
}

impl<'a> Begun<'a> {
    /// Returns the line of a run that begins now in this process.
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

/// Returns the jobs of a plan as the journal knows them.
pub(super) fn planned(plan: &Plan) -> Vec<PlannedJob<'_>> {
    let jobs = plan.jobs().iter();
    let jobs = jobs.map(|job| PlannedJob {
        job: job.name().into(),
        stage: (&*job.definition.stage).into(),
        id: job.id,
        definition: fingerprint(&*job.definition),
    });
    jobs.collect()
}

/// Returns a number that changes with the value.
fn fingerprint(value: &impl Serialize) -> u64 {
    let mut hash = Fnv::default();
    // A value that cannot be written is like any other of its kind.
    let _ = serde_json::to_writer(&mut hash, value);
    hash.finish()
}

/// FNV-1a: the numbers must stay the same from build to build, which std's hasher does not promise.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl std::hash::Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::hash::Hasher::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Any line, as far as a reader needs it. Flat, since most of reading is telling lines apart.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
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
}
