use super::JobReport;
use crate::Status;
use executor_core::BuildError;

/// The result of a job as reports count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Passed,
    /// Its script failed.
    Failed,
    /// It was stopped, or something other than its script failed.
    Broken,
    /// It failed and is allowed to.
    Allowed,
    /// It did not run.
    NotRun,
}

impl Ending {
    pub(super) fn of(job: &JobReport) -> Self {
        match job.status {
            Status::Success => Self::Passed,
            Status::Failed | Status::Canceled if job.allow_failure => Self::Allowed,
            Status::Failed if job.exit_code.is_some() => Self::Failed,
            Status::Canceled if job.attempts == 0 => Self::NotRun,
            Status::Failed | Status::Canceled => Self::Broken,
            _ => Self::NotRun,
        }
    }
}

/// Returns why a job did not succeed: `exit code 3`, or the error with its causes.
pub(super) fn why(job: &JobReport) -> String {
    let is_script = |error: &BuildError| matches!(error, BuildError::Script { .. });
    match (&job.error, job.exit_code, job.failure_reason) {
        (Some(error), _, _) if !is_script(error) => error.chain(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(reason)) => reason.as_str().to_owned(),
        (_, None, None) => job.status.as_str().to_owned(),
    }
}
