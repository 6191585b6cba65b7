use super::JobReport;
use crate::Status;
use executor_core::BuildError;

/// What a job's end means for whoever counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Passed,
    /// Its author's script failed.
    Failed,
    /// It was stopped, or something else than its script failed.
    Broken,
    /// It failed and may.
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

/// Returns why a job did not succeed: `exit code 3`, or its reason with all that is known of it.
pub(super) fn why(job: &JobReport) -> String {
    let is_script = |error: &BuildError| matches!(error, BuildError::Script { .. });
    match (&job.error, job.exit_code, job.failure_reason) {
        (Some(error), _, _) if !is_script(error) => error.chain(),
        (_, Some(code), _) => format!("exit code {code}"),
        (_, None, Some(reason)) => reason.as_str().to_owned(),
        (_, None, None) => job.status.as_str().to_owned(),
    }
}
