use super::call::shortened;
use super::error::StepsError;
use super::run_status::{AgentInfo, RunId, RunResult, RunState, RunStatus};
use crate::wire::v1::{self, result::ErrorKind, result::State};
use executor_core::{CancelCause, Cancellation, ExitCode, StageStatus};
use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

/// The valid signal numbers.
const SIGNALS: RangeInclusive<i32> = 1..=64;

/// Returns the status of a request.
pub(crate) fn status(status: v1::Status) -> RunStatus {
    let (state, message, result) = match &status.result {
        Some(result) => (
            state(&status, result),
            shortened(result.message.clone()),
            status.finished.then(|| run_result(&status, result)),
        ),
        // A service that knows only the fields of the upstream protocol.
        None => (
            plain_state(&status),
            String::new(),
            status
                .finished
                .then(|| run_result(&status, &v1::Result::default())),
        ),
    };
    RunStatus {
        id: RunId::new(status.id),
        state,
        message,
        started: status.start_time.and_then(time),
        ended: status.end_time.and_then(time),
        result,
    }
}

/// Returns the result of a request, or why it has none.
pub(crate) fn ended(
    status: RunStatus,
    cancellation: &Cancellation,
) -> Result<RunResult, StepsError> {
    let message = status.message;
    let refused = StepsError::Refused {
        message: message.clone(),
    };
    match (status.state, status.result) {
        (RunState::Success | RunState::Failure, Some(result)) => Ok(result),
        (RunState::Canceled, _) => {
            // Without a request from this side, a service cancels its requests only when it closes.
            let cause = cancellation.cause();
            Err(StepsError::Canceled(
                cause.unwrap_or(CancelCause::EnvironmentLost),
            ))
        }
        (RunState::TimedOut, result) => Err(StepsError::TimedOut {
            limit: result.map_or(Duration::ZERO, |result| result.duration),
        }),
        (RunState::NotStarted, _) => Err(refused),
        (RunState::Broken, _) => Err(StepsError::Internal { message }),
        (RunState::Running, _) | (_, None) => Err(StepsError::Internal {
            message: "the log ended before the request".to_owned(),
        }),
    }
}

fn state(status: &v1::Status, result: &v1::Result) -> RunState {
    if !status.finished {
        return RunState::Running;
    }
    match (result.state(), result.error_kind()) {
        (_, ErrorKind::Timeout) => RunState::TimedOut,
        (_, ErrorKind::Internal) => RunState::Broken,
        (_, ErrorKind::Start) => RunState::NotStarted,
        (State::Cancelled, _) | (_, ErrorKind::Cancelled) => RunState::Canceled,
        (State::Success, _) => RunState::Success,
        (State::Failure, _) => RunState::Failure,
        (State::Unspecified | State::Running, _) => plain_state(status),
    }
}

fn plain_state(status: &v1::Status) -> RunState {
    match (status.finished, status.exit_code) {
        (false, _) => RunState::Running,
        (true, 0) => RunState::Success,
        (true, _) => RunState::Failure,
    }
}

fn run_result(status: &v1::Status, result: &v1::Result) -> RunResult {
    let known = |number: u64| (number > 0).then_some(number);
    RunResult {
        status: if SIGNALS.contains(&result.signal) {
            StageStatus::Signaled {
                signal: result.signal,
            }
        } else {
            StageStatus::Exited(ExitCode(status.exit_code))
        },
        oom_killed: result.oom_killed,
        duration: Duration::from_micros(result.duration_us),
        cpu_time: known(result.cpu_us).map(Duration::from_micros),
        peak_memory: known(result.peak_memory),
        stdout_bytes: result.stdout_bytes,
        stderr_bytes: result.stderr_bytes,
        log_bytes: result.log_bytes,
        log_error: (!result.log_error.is_empty()).then(|| shortened(result.log_error.clone())),
    }
}

fn time(time: prost_types::Timestamp) -> Option<SystemTime> {
    SystemTime::try_from(time).ok()
}

/// Returns the description of the agent.
pub(crate) fn agent(hello: v1::HelloResponse) -> AgentInfo {
    AgentInfo {
        version: hello.version,
        pid: hello.pid,
        uid: hello.uid,
        gid: hello.gid,
        home: hello.home,
        shells: hello.shells,
        instance: hello.instance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_mapped() {
        let check = |finished, exit_code, result: Option<(State, ErrorKind)>, expect| {
            let result = result.map(|(state, kind)| v1::Result {
                state: state.into(),
                error_kind: kind.into(),
                ..v1::Result::default()
            });
            let found = status(v1::Status {
                finished,
                exit_code,
                result,
                ..v1::Status::default()
            });
            assert_eq!(found.state, expect);
            assert_eq!(found.result.is_some(), finished);
        };
        let none = ErrorKind::Unspecified;
        check(false, 0, None, RunState::Running);
        check(true, 0, None, RunState::Success);
        check(true, 3, None, RunState::Failure);
        check(false, 0, Some((State::Running, none)), RunState::Running);
        check(true, 0, Some((State::Success, none)), RunState::Success);
        let failed = Some((State::Failure, ErrorKind::StepFailure));
        check(true, 3, failed, RunState::Failure);
        let cancelled = Some((State::Cancelled, ErrorKind::Cancelled));
        check(true, 143, cancelled, RunState::Canceled);
        let timeout = Some((State::Cancelled, ErrorKind::Timeout));
        check(true, 143, timeout, RunState::TimedOut);
        let start = Some((State::Failure, ErrorKind::Start));
        check(true, 1, start, RunState::NotStarted);
        let internal = Some((State::Failure, ErrorKind::Internal));
        check(true, 1, internal, RunState::Broken);
    }

    #[test]
    fn signal_takes_precedence_over_the_exit_code() {
        let result = v1::Result {
            state: State::Failure.into(),
            signal: 9,
            ..v1::Result::default()
        };
        let ended_status = status(v1::Status {
            finished: true,
            exit_code: 137,
            result: Some(result),
            ..v1::Status::default()
        });
        let result = ended(ended_status, &Cancellation::new()).unwrap();
        assert_eq!(result.status, StageStatus::Signaled { signal: 9 });
        assert_eq!(result.cpu_time, None);
    }
}
