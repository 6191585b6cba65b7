//! Where a run stands.

use super::run_history::RunHistory;
use super::run_lock::Holder;
use scheduler::Status;
use serde::Serialize;
use std::fmt;

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// It lives.
    Running {
        /// Its process, where that is known.
        pid: Option<u32>,
    },
    /// It ended well.
    Success,
    /// It did not.
    Failed,
    /// Somebody stopped it.
    Canceled,
    /// It ended and waits for somebody to play a job.
    Manual,
    /// It had nothing to run.
    Skipped,
    /// Its process died before it could end.
    Killed {
        /// How many jobs had finished.
        finished: usize,
        /// How many there were; 0 when it died before the first could start.
        jobs: usize,
    },
}

impl RunState {
    /// Decides where a run stands by its lock and its journal.
    pub(super) fn decide(holder: Holder, history: &RunHistory) -> Self {
        let Some(end) = &history.end else {
            return match holder {
                Holder::Run(pid) => Self::Running { pid },
                Holder::Nobody => Self::Killed {
                    finished: history.finished().count(),
                    jobs: history.planned().count(),
                },
            };
        };
        match end.status {
            Status::Success => Self::Success,
            Status::Canceled | Status::Canceling => Self::Canceled,
            Status::Manual => Self::Manual,
            Status::Skipped => Self::Skipped,
            // Workers that gave up leave jobs that wait for them.
            _ => Self::Failed,
        }
    }

    /// Returns the word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
            Self::Manual => "manual",
            Self::Skipped => "skipped",
            Self::Killed { .. } => "killed",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_says_how_a_run_ended_and_the_lock_whether_it_lives() {
        let check = |holder, status: Option<Status>, expect| {
            let end = status.map(|status| {
                format!("{{\"type\":\"pipeline_done\",\"status\":\"{status}\",\"exit_code\":0}}\n")
            });
            let history = RunHistory::parse(end.unwrap_or_default().as_bytes(), 1);
            assert_eq!(
                RunState::decide(holder, &history),
                expect,
                "{holder:?} {status:?}"
            );
        };
        let killed = RunState::Killed {
            finished: 0,
            jobs: 0,
        };
        check(
            Holder::Run(Some(7)),
            None,
            RunState::Running { pid: Some(7) },
        );
        check(Holder::Nobody, None, killed);
        check(Holder::Nobody, Some(Status::Success), RunState::Success);
        // Its process cleans up, or a child of it has the lock for a moment.
        check(Holder::Run(None), Some(Status::Failed), RunState::Failed);
        check(Holder::Nobody, Some(Status::Canceling), RunState::Canceled);
        check(Holder::Nobody, Some(Status::Manual), RunState::Manual);
        check(Holder::Nobody, Some(Status::Running), RunState::Failed);
    }
}
