use super::TimeReport;
use crate::Status;
use executor_core::{
    BuildError, FailureReason, JobProducts, PipelineId, ReusedFrom, TestTotals, WorkerError,
};
use pipeline::ExitRule;
use std::sync::Arc;
use std::time::Duration;

/// The exit code of a program that runs a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RunExit {
    /// All went well: also when only jobs that may fail did, when there was no pipeline to create,
    /// and when the pipeline waits at a manual job and nothing else failed.
    Success = 0,
    /// A job failed, or the pipeline's own time was up.
    JobFailed = 1,
    /// The command line or the pipeline file is wrong; nothing was run.
    Usage = 2,
    /// No job is to blame: the machine, an executor or the runner itself failed.
    Environment = 3,
    /// A signal, or somebody else, stopped the pipeline.
    Interrupted = 130,
}

impl RunExit {
    /// Returns the number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns what a number means; one that no pipeline ends with means the environment.
    pub const fn of_code(code: u8) -> Self {
        match code {
            0 => Self::Success,
            1 => Self::JobFailed,
            2 => Self::Usage,
            130 => Self::Interrupted,
            _ => Self::Environment,
        }
    }
}

/// How a pipeline ended.
#[derive(Debug)]
pub struct PipelineReport {
    /// The pipeline.
    pub id: PipelineId,
    /// The status it came to.
    pub status: Status,
    /// What the program should exit with.
    pub exit: RunExit,
    /// The jobs by stage, within a stage in the order of the file.
    pub jobs: Vec<JobReport>,
    /// How long it took.
    pub duration: Duration,
    /// Why no job could be run any more, when that happened.
    pub error: Option<WorkerError>,
    /// The pipelines that its jobs started, in the order of their ends. Whether they succeeded
    /// matters to this one only where its jobs say so.
    pub children: Vec<ChildReport>,
    /// Where its time went, when somebody asked for that.
    pub times: Option<TimeReport>,
}

/// How a pipeline ended that a job of another one started.
#[derive(Debug)]
pub struct ChildReport {
    /// The job.
    pub job: String,
    /// The project it is of, if that is another one.
    pub project: Option<String>,
    /// How it ended.
    pub report: PipelineReport,
}

impl PipelineReport {
    /// Returns the jobs that made the pipeline fail.
    pub fn failed_jobs(&self) -> impl Iterator<Item = &JobReport> {
        let decides = |job: &&JobReport| job.status == Status::Failed && !job.allow_failure;
        self.jobs.iter().filter(decides)
    }

    /// Returns what the junit reports of all jobs tell together; absent when there was none.
    pub fn tests(&self) -> Option<TestTotals> {
        let mut reports = self
            .jobs
            .iter()
            .filter_map(|job| job.products.tests.as_ref());
        let mut all = reports.next()?.clone();
        for tests in reports {
            all.total += tests.total;
            all.failed += tests.failed;
            all.errors += tests.errors;
            all.skipped += tests.skipped;
            all.seconds += tests.seconds;
            all.failures.extend(tests.failures.iter().cloned());
        }
        Some(all)
    }

    /// Returns the coverage of the pipeline as GitLab computes it: the mean of all jobs that have
    /// one, in percent.
    pub fn coverage(&self) -> Option<f64> {
        let found = self.jobs.iter().filter_map(|job| job.products.coverage);
        let (sum, count) = found.fold((0.0, 0.0), |(sum, count), coverage| {
            (sum + coverage, count + 1.0)
        });
        (count > 0.0).then(|| sum / count)
    }
}

/// How one job of a pipeline ended.
#[derive(Debug, Clone)]
pub struct JobReport {
    /// The job's expanded name.
    pub name: String,
    /// Its stage.
    pub stage: String,
    /// The status it came to.
    pub status: Status,
    /// The exit code of the script in its last attempt, when one decided.
    pub exit_code: Option<i32>,
    /// Why the last attempt did not succeed, in GitLab's words.
    pub failure_reason: Option<FailureReason>,
    /// Why the last attempt did not succeed, with all causes.
    pub error: Option<Arc<BuildError>>,
    /// Whether its failure lets the pipeline pass.
    pub allow_failure: bool,
    /// How many attempts were begun; 0 for a job that never ran.
    pub attempts: u32,
    /// How long all attempts took together.
    pub duration: Duration,
    /// The last lines the job itself wrote in its last attempt.
    pub last_lines: Vec<String>,
    /// What its last attempt left: artifacts, variables, tests, coverage.
    pub products: Arc<JobProducts>,
    /// The label of `artifacts:expose_as`.
    pub exposed_as: Option<String>,
    /// Where its end comes from, when its last attempt did not run.
    pub reused: Option<ReusedFrom>,
}

/// Returns the exit code of a pipeline that was not stopped.
///
/// The jobs decide before the status of the pipeline: a pipeline that waits at a manual job is
/// `manual` also when another job failed.
pub(crate) fn exit_of(rule: ExitRule, status: Status, jobs: &[JobReport]) -> RunExit {
    let decides = |job: &&JobReport| {
        matches!(job.status, Status::Failed | Status::Canceled) && !job.allow_failure
    };
    let mut spoilt = jobs.iter().filter(decides).peekable();
    if let Some(&first) = spoilt.peek() {
        let counts = |job: &&JobReport| rule == ExitRule::AllStages || job.stage == first.stage;
        return if spoilt
            .filter(counts)
            .all(|job| is_environmental(job.failure_reason))
        {
            RunExit::Environment
        } else {
            RunExit::JobFailed
        };
    }
    match status {
        Status::Success
        | Status::Skipped
        | Status::Manual
        | Status::Scheduled
        | Status::Created => RunExit::Success,
        _ => RunExit::JobFailed,
    }
}

/// Returns whether the job's author is not to blame.
fn is_environmental(reason: Option<FailureReason>) -> bool {
    matches!(
        reason,
        Some(
            FailureReason::RunnerSystemFailure
                | FailureReason::RunnerExternalDependencyFailure
                | FailureReason::RunnerConfigurationError
                | FailureReason::ImagePullFailure
                | FailureReason::RunnerInterrupted
                | FailureReason::UnknownFailure
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(status: Status, reason: Option<FailureReason>, allow_failure: bool) -> JobReport {
        JobReport {
            name: "job".to_owned(),
            stage: "test".to_owned(),
            status,
            exit_code: None,
            failure_reason: reason,
            error: None,
            allow_failure,
            attempts: 1,
            duration: Duration::ZERO,
            last_lines: Vec::new(),
            products: Arc::default(),
            exposed_as: None,
            reused: None,
        }
    }

    #[test]
    fn exit_codes_tell_a_job_from_its_environment() {
        let script = || job(Status::Failed, Some(FailureReason::ScriptFailure), false);
        let system = || {
            job(
                Status::Failed,
                Some(FailureReason::RunnerSystemFailure),
                false,
            )
        };
        let check = |status, jobs: &[JobReport], code| {
            assert_eq!(exit_of(ExitRule::AllStages, status, jobs).code(), code);
        };
        check(Status::Success, &[], 0);
        check(Status::Manual, &[], 0);
        check(Status::Skipped, &[], 0);
        check(Status::Failed, &[script()], 1);
        check(Status::Failed, &[system()], 3);
        check(Status::Failed, &[system(), script()], 1);
        let allowed = job(Status::Failed, Some(FailureReason::ScriptFailure), true);
        check(Status::Failed, &[allowed, system()], 3);
        check(Status::Canceled, &[job(Status::Canceled, None, false)], 1);
    }

    #[test]
    fn first_failed_stage_decides_where_the_rule_says_so() {
        let failed = |stage: &str, reason| JobReport {
            stage: stage.to_owned(),
            ..job(Status::Failed, Some(reason), false)
        };
        let system = failed("build", FailureReason::RunnerSystemFailure);
        let jobs = [system, failed("rescue", FailureReason::ScriptFailure)];
        let check = |rule, code| {
            assert_eq!(exit_of(rule, Status::Failed, &jobs).code(), code);
        };
        check(ExitRule::AllStages, 1);
        check(ExitRule::FirstFailedStage, 3);
    }

    #[test]
    fn a_job_that_waits_does_not_hide_one_that_failed() {
        let waits = || job(Status::Manual, None, false);
        let of = |reason| job(Status::Failed, Some(reason), false);
        for status in [Status::Manual, Status::Scheduled, Status::Created] {
            let check = |jobs: &[JobReport], expect| {
                assert_eq!(exit_of(ExitRule::AllStages, status, jobs), expect);
            };
            check(&[waits()], RunExit::Success);
            check(
                &[waits(), of(FailureReason::ScriptFailure)],
                RunExit::JobFailed,
            );
            check(
                &[waits(), of(FailureReason::RunnerSystemFailure)],
                RunExit::Environment,
            );
            check(
                &[waits(), job(Status::Canceled, None, false)],
                RunExit::JobFailed,
            );
            let allowed = job(Status::Failed, Some(FailureReason::ScriptFailure), true);
            check(&[waits(), allowed], RunExit::Success);
        }
    }
}
