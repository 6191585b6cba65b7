//! The record of a job from `acquire` to `release`.

use executor_core::{BuildStage, FailureReason, JobOutcome};
use parking_lot::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;

/// The value of GitLab Runner's label `mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Script,
    Steps,
}

impl Mode {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Steps => "steps",
        }
    }
}

/// Collects the events of one job's executors, from the first `create` to `release`.
#[derive(Debug, Default)]
pub(super) struct JobRecord(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    began: Option<Instant>,
    /// Whether its payload was recorded: further attempts have the same payload.
    was_seen: bool,
    ended: Option<Instant>,
    user_code: Duration,
    mode: Mode,
    end: Option<End>,
}

#[derive(Debug, Clone, Copy)]
enum End {
    Succeeded,
    Failed(FailureReason),
}

/// The measurements of a finished job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) duration: Duration,
    /// The part of the duration outside of stages with user code.
    pub(super) overhead: Duration,
    pub(super) mode: Mode,
    /// The reason of a failure.
    pub(super) failure: Option<FailureReason>,
}

impl JobRecord {
    pub(super) fn began(&self) {
        self.lock().began.get_or_insert_with(Instant::now);
    }

    /// Returns whether this is the first call for the job.
    pub(super) fn is_new(&self) -> bool {
        !std::mem::replace(&mut self.lock().was_seen, true)
    }

    pub(super) fn failed_to_prepare(&self, reason: FailureReason) {
        self.lock().end = Some(End::Failed(reason));
    }

    pub(super) fn ran(&self, stage: &BuildStage, duration: Duration) {
        let mut known = self.lock();
        if stage.is_user_code() {
            known.user_code += duration;
        }
        if *stage == BuildStage::StepRun {
            known.mode = Mode::Steps;
        }
    }

    pub(super) fn finished(&self, outcome: &JobOutcome) {
        self.lock().end = Some(match outcome.failure_reason() {
            None => End::Succeeded,
            Some(reason) => End::Failed(reason),
        });
    }

    pub(super) fn cleaned_up(&self) {
        self.lock().ended = Some(Instant::now());
    }

    /// Returns the measurements, once; `None` when no executor was created for the job.
    pub(super) fn end(&self) -> Option<Ended> {
        let mut known = self.lock();
        let began = known.began.take()?;
        let duration = known.ended.unwrap_or_else(Instant::now) - began;
        Some(Ended {
            duration,
            overhead: duration.saturating_sub(known.user_code),
            mode: known.mode,
            failure: match known.end {
                Some(End::Succeeded) => None,
                Some(End::Failed(reason)) => Some(reason),
                // The driver dropped the executor without a `finish`.
                None => Some(FailureReason::UnknownFailure),
            },
        })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::BuildError;

    #[tokio::test(start_paused = true)]
    async fn overhead_excludes_user_stages() {
        let record = JobRecord::default();
        record.began();
        tokio::time::sleep(Duration::from_secs(10)).await;
        record.ran(&BuildStage::GetSources, Duration::from_secs(3));
        record.ran(&BuildStage::script(), Duration::from_secs(5));
        record.ran(&BuildStage::AfterScript, Duration::from_secs(1));
        record.finished(&JobOutcome::success());
        record.cleaned_up();
        tokio::time::sleep(Duration::from_secs(7)).await;
        let ended = Ended {
            duration: Duration::from_secs(10),
            overhead: Duration::from_secs(4),
            mode: Mode::Script,
            failure: None,
        };
        assert_eq!(record.end(), Some(ended));
        assert_eq!(record.end(), None, "a job ends once");
    }

    #[test]
    fn job_without_an_executor_is_not_counted() {
        assert_eq!(JobRecord::default().end(), None);
    }

    #[test]
    fn last_outcome_counts() {
        let reason = |record: &JobRecord| record.end().map(|ended| ended.failure);
        let record = JobRecord::default();
        record.began();
        assert_eq!(reason(&record), Some(Some(FailureReason::UnknownFailure)));

        record.began();
        record.failed_to_prepare(FailureReason::RunnerSystemFailure);
        assert_eq!(
            reason(&record),
            Some(Some(FailureReason::RunnerSystemFailure))
        );

        record.began();
        record.finished(&JobOutcome::from_error(BuildError::config("no such user")));
        let wrong = Some(FailureReason::RunnerConfigurationError);
        assert_eq!(reason(&record), Some(wrong));
    }
}
