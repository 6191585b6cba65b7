use super::ending::why;
use super::{ChildReport, JobReport, PipelineReport, TimeReport};
use crate::Status;
use executor_core::{ChangedFiles, FailureReason, RetainedArtifact, ReusedFrom, TestTotals, chain};
use serde::Serialize;
use std::time::Duration;

/// The version of the JSON format of reports.
pub const REPORT_VERSION: u32 = 1;

/// Returns a report in JSON.
pub(super) fn write(report: &PipelineReport) -> String {
    let document = Document {
        version: REPORT_VERSION,
        pipeline: Pipeline::of(report),
    };
    let text = serde_json::to_string_pretty(&document);
    let mut text = text.expect("all keys are texts");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'r> {
    version: u32,
    #[serde(flatten)]
    pipeline: Pipeline<'r>,
}

#[derive(Serialize)]
struct Pipeline<'r> {
    #[serde(rename = "pipeline")]
    id: u64,
    status: Status,
    exit_code: u8,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<TestTotals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<f64>,
    /// Where the time went.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Times<'r>>,
    jobs: Vec<Job<'r>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Child<'r>>,
}

#[derive(Serialize)]
struct Times<'r> {
    expected_ms: Option<u64>,
    at_least: bool,
    critical_path: Vec<PathStep<'r>>,
    slower: Vec<Slower<'r>>,
}

#[derive(Serialize)]
struct PathStep<'r> {
    job: &'r str,
    waited_ms: u64,
    took_ms: u64,
}

#[derive(Serialize)]
struct Slower<'r> {
    job: &'r str,
    took_ms: u64,
    usual_ms: u64,
}

#[derive(Serialize)]
struct Child<'r> {
    job: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'r str>,
    #[serde(flatten)]
    pipeline: Pipeline<'r>,
}

#[derive(Serialize)]
struct Job<'r> {
    name: &'r str,
    stage: &'r str,
    status: Status,
    exit_code: Option<i32>,
    failure_reason: Option<FailureReason>,
    allow_failure: bool,
    attempts: u32,
    duration_ms: u64,
    /// Why it did not succeed, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    last_lines: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    tests: Option<&'r TestTotals>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<f64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    artifacts: &'r [RetainedArtifact],
    #[serde(skip_serializing_if = "Option::is_none")]
    exposed_as: Option<&'r str>,
    /// The tracked files that it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<&'r ChangedFiles>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reused: Option<ReusedFrom>,
}

impl<'r> Pipeline<'r> {
    fn of(report: &'r PipelineReport) -> Self {
        Self {
            id: report.id.0,
            status: report.status,
            exit_code: report.exit.code(),
            duration_ms: millis(report.duration),
            error: report.error.as_ref().map(|error| chain(error)),
            tests: report.tests().map(|tests| TestTotals {
                // The failures are listed with their jobs.
                failures: Vec::new(),
                ..tests
            }),
            coverage: report.coverage(),
            times: report.times.as_ref().map(Times::of),
            jobs: report.jobs.iter().map(Job::of).collect(),
            children: report.children.iter().map(Child::of).collect(),
        }
    }
}

impl<'r> Times<'r> {
    fn of(times: &'r TimeReport) -> Self {
        let path = times.path.iter().map(|step| PathStep {
            job: &step.job,
            waited_ms: millis(step.waited),
            took_ms: millis(step.took),
        });
        let slower = times.slower.iter().map(|slower| Slower {
            job: &slower.job,
            took_ms: millis(slower.took),
            usual_ms: millis(slower.usual),
        });
        Self {
            expected_ms: times.expected.map(millis),
            at_least: times.is_at_least,
            critical_path: path.collect(),
            slower: slower.collect(),
        }
    }
}

impl<'r> Child<'r> {
    fn of(child: &'r ChildReport) -> Self {
        Self {
            job: &child.job,
            project: child.project.as_deref(),
            pipeline: Pipeline::of(&child.report),
        }
    }
}

impl<'r> Job<'r> {
    fn of(job: &'r JobReport) -> Self {
        let failed = matches!(job.status, Status::Failed | Status::Canceled);
        let products = &job.products;
        Self {
            name: &job.name,
            stage: &job.stage,
            status: job.status,
            exit_code: job.exit_code,
            failure_reason: job.failure_reason,
            allow_failure: job.allow_failure,
            attempts: job.attempts,
            duration_ms: millis(job.duration),
            error: failed.then(|| why(job)),
            last_lines: if failed { &job.last_lines } else { &[] },
            tests: products.tests.as_ref(),
            coverage: products.coverage,
            artifacts: &products.artifacts,
            exposed_as: job.exposed_as.as_deref(),
            changed: products.changed.as_ref(),
            reused: job.reused,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
