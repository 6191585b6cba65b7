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
    /// The pipeline succeeded: also when only jobs failed that are allowed to, when there was no
    /// pipeline to create, and when the pipeline waits at a manual job and no other job failed.
    Success = 0,
    /// A job failed, or the time limit of the pipeline passed.
    JobFailed = 1,
    /// The command line or the pipeline file is invalid; no job ran.
    Usage = 2,
    /// The machine, an executor or the runner failed, and no job.
    Environment = 3,
    /// The user or a signal stopped the pipeline.
    Interrupted = 130,
}

impl RunExit {
    /// Returns the number.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the meaning of a number; unknown numbers mean the environment.
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

/// The result of a pipeline.
#[derive(Debug)]
pub struct PipelineReport {
    /// The pipeline.
    pub id: PipelineId,
    /// Its status.
    pub status: Status,
    /// The exit code of the program.
    pub exit: RunExit,
    /// The jobs by stage, within a stage in the order of the file.
    pub jobs: Vec<JobReport>,
    /// Its duration.
    pub duration: Duration,
    /// Why the workers failed, when that kept jobs from running.
    pub error: Option<WorkerError>,
    /// The downstream pipelines, in the order of their ends. Their results count for this one only
    /// through the jobs that waited for them.
    pub children: Vec<ChildReport>,
    /// Where its time went, when that was requested.
    pub times: Option<TimeReport>,
}

/// The result of a downstream pipeline.
#[derive(Debug)]
pub struct ChildReport {
    /// The job that started it.
    pub job: String,
    /// Its project, if that is another one.
    pub project: Option<String>,
    /// The result.
    pub report: PipelineReport,
}

impl PipelineReport {
    /// Returns the jobs that made the pipeline fail.
    pub fn failed_jobs(&self) -> impl Iterator<Item = &JobReport> {
        let decides = |job: &&JobReport| job.status == Status::Failed && !job.allow_failure;
        self.jobs.iter().filter(decides)
    }

    /// Returns the totals of the JUnit reports of all jobs; absent when there is none.
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

    /// Returns the coverage of the pipeline in percent, as GitLab computes it: the mean of all jobs that
    /// have one.
    pub fn coverage(&self) -> Option<f64> {
        let found = self.jobs.iter().filter_map(|job| job.products.coverage);
        let (sum, count) = found.fold((0.0, 0.0), |(sum, count), coverage| {
            (sum + coverage, count + 1.0)
        });
        (count > 0.0).then(|| sum / count)
    }
}

/// The result of a job.
#[derive(Debug, Clone)]
pub struct JobReport {
    /// The job's expanded name.
    pub name: String,
    /// Its stage.
    pub stage: String,
    /// Its status.
    pub status: Status,
    /// The exit code of the script in its last attempt, when one decided.
    pub exit_code: Option<i32>,
    /// Why the last attempt did not succeed, as GitLab names it.
    pub failure_reason: Option<FailureReason>,
    /// Why the last attempt did not succeed, with all causes.
    pub error: Option<Arc<BuildError>>,
    /// Whether it may fail.
    pub allow_failure: bool,
    /// The number of attempts; 0 for a job that never ran.
    pub attempts: u32,
    /// The duration of all attempts together.
    pub duration: Duration,
    /// The last lines that the script wrote in the last attempt.
    pub last_lines: Vec<String>,
    /// The artifacts, variables, tests and coverage of the last attempt.
    pub products: Arc<JobProducts>,
    /// The label of `artifacts:expose_as`.
    pub exposed_as: Option<String>,
    /// The run whose result the last attempt reused.
    pub reused: Option<ReusedFrom>,
}

/// Where the time of a pipeline went, compared with earlier runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimeReport {
    /// The expected duration, when it was known.
    pub expected: Option<Duration>,
    /// Whether that was a minimum, because the durations of some jobs were unknown.
    pub is_at_least: bool,
    /// The chain of jobs that decided the duration, the first job first.
    pub path: Vec<CriticalStep>,
    /// The jobs that took longer than usual.
    pub slower: Vec<SlowerJob>,
}

/// A job that took longer than usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowerJob {
    /// The job.
    pub job: String,
    /// Its duration.
    pub took: Duration,
    /// Its usual duration.
    pub usual: Duration,
}

/// A job of the chain that decides the duration of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalStep {
    /// The job.
    pub job: Arc<str>,
    /// Its index in the plan.
    pub index: usize,
    /// How long it waited after the previous job had ended, or the run began: for a delay, the user or a
    /// worker.
    pub waited: Duration,
    /// Its duration, or the expected one.
    pub took: Duration,
}

/// Returns the exit code of a pipeline that was not stopped.
///
/// The jobs decide before the status of the pipeline: a pipeline that waits at a manual job is
/// `manual` also when another job failed.
pub(crate) fn exit_of<'r>(
    rule: ExitRule,
    status: Status,
    jobs: impl IntoIterator<Item = &'r JobReport>,
) -> RunExit {
    let decides = |job: &&JobReport| {
        matches!(job.status, Status::Failed | Status::Canceled) && !job.allow_failure
    };
    let mut failed = jobs.into_iter().filter(decides).peekable();
    if let Some(&first) = failed.peek() {
        let counts = |job: &&JobReport| rule == ExitRule::AllStages || job.stage == first.stage;
        return if failed
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

/// Returns whether the failure is not the fault of the job's author.
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
    fn exit_codes_distinguish_jobs_from_the_environment() {
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
    fn manual_job_does_not_hide_a_failed_one() {
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
