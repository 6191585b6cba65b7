use super::run_history::RunHistory;
use super::run_lock::Holder;
use scheduler::Status;
use serde::Serialize;
use std::fmt;

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunState {
    /// It is running.
    Running {
        /// Its process, if known.
        pid: Option<u32>,
    },
    /// It succeeded.
    Success,
    /// It failed.
    Failed,
    /// It was canceled.
    Canceled,
    /// It ended with manual jobs to play.
    Manual,
    /// It had nothing to run.
    Skipped,
    /// Its process died before it could end.
    Killed {
        /// How many jobs had finished.
        finished: usize,
        /// How many there were; 0 if it died before the first started.
        jobs: usize,
    },
    /// It does not run, and its journal has damaged lines and no end.
    Damaged,
}

impl RunState {
    /// Decides the state by a run's lock and journal.
    pub(super) fn decide(holder: Holder, history: &RunHistory) -> Self {
        let Some(end) = &history.end else {
            return match holder {
                Holder::Run(pid) => Self::Running { pid },
                Holder::None if history.damaged > 0 => Self::Damaged,
                Holder::None => Self::Killed {
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
            // Workers that stopped on an error leave jobs that wait.
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
            Self::Damaged => "damaged",
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
    fn journal_tells_the_end_and_lock_tells_whether_it_runs() {
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
        check(Holder::None, None, killed);
        let damaged = RunHistory::parse(b"\0\0", 1);
        assert_eq!(RunState::decide(Holder::None, &damaged), RunState::Damaged);
        check(Holder::None, Some(Status::Success), RunState::Success);
        // Its process cleans up, or a child holds the lock for a moment.
        check(Holder::Run(None), Some(Status::Failed), RunState::Failed);
        check(Holder::None, Some(Status::Canceling), RunState::Canceled);
        check(Holder::None, Some(Status::Manual), RunState::Manual);
        check(Holder::None, Some(Status::Running), RunState::Failed);
    }
}
