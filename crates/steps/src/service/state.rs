//! The state of a request.

use std::time::SystemTime;

use executor_core::{CancelCause, Cancellation};
use process::{ExitStatus, Outcome};

use crate::wire::v1::result::{ErrorKind, State};
use crate::wire::v1::step_result::{ExecResult, Status};
use crate::wire::v1::{Result as Summary, Step, StepResult};

/// A change of a step's state. It is small where possible: a request may have many, and all are kept.
#[derive(Debug, Clone)]
enum StepEvent {
    /// A script changed its state.
    Changed {
        step: usize,
        status: Status,
        exit_code: i32,
    },
    /// A step of a function finished.
    Finished(Box<StepResult>),
}

/// Why a step did not succeed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    pub(crate) exit_code: i32,
    /// Whether the log has the message.
    pub(crate) is_logged: bool,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            exit_code: 1,
            is_logged: false,
        }
    }

    /// Returns the failure of a stopped request.
    pub(crate) fn stopped(cancellation: &Cancellation) -> Self {
        let Some(cause) = cancellation.cause() else {
            return Self::new(ErrorKind::Internal, "stopped without a request");
        };
        let kind = match cause {
            CancelCause::Timeout => ErrorKind::Timeout,
            _ => ErrorKind::Cancelled,
        };
        Self::new(kind, format!("stopped {cause}"))
    }

    /// Returns whether the step was stopped on purpose.
    pub(crate) fn is_stop(&self) -> bool {
        self.state() == State::Cancelled
    }

    fn state(&self) -> State {
        match self.kind {
            ErrorKind::Cancelled | ErrorKind::Timeout => State::Cancelled,
            _ => State::Failure,
        }
    }
}

/// The state of a request since its start.
#[derive(Debug)]
pub(crate) struct RequestState {
    /// The names of the steps.
    names: Vec<String>,
    events: Vec<StepEvent>,
    summary: Summary,
    exit_code: i32,
    pub(crate) ended: Option<SystemTime>,
}

impl RequestState {
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self {
            names,
            events: Vec::new(),
            summary: Summary {
                state: State::Running.into(),
                ..Summary::default()
            },
            exit_code: 0,
            ended: None,
        }
    }

    pub(crate) fn step_started(&mut self, step: usize) {
        self.note(step, Status::Running, 0);
    }

    pub(crate) fn step_ended(&mut self, step: usize, failure: Option<&Failure>) {
        let (status, code) = match failure {
            None => (Status::Success, 0),
            Some(failure) if failure.is_stop() => (Status::Cancelled, failure.exit_code),
            Some(failure) => (Status::Failure, failure.exit_code),
        };
        self.note(step, status, code);
    }

    /// Records the end of a step of a function.
    pub(crate) fn step_finished(&mut self, result: StepResult) {
        self.events.push(StepEvent::Finished(Box::new(result)));
    }

    fn note(&mut self, step: usize, status: Status, exit_code: i32) {
        self.events.push(StepEvent::Changed {
            step,
            status,
            exit_code,
        });
    }

    /// Adds the usage of a process.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        let micros =
            |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let summary = &mut self.summary;
        summary.duration_us += micros(outcome.elapsed);
        summary.cpu_us += micros(outcome.usage.user + outcome.usage.system);
        summary.peak_memory = summary.peak_memory.max(outcome.usage.max_resident);
        summary.stdout_bytes += outcome.bytes[0];
        summary.stderr_bytes += outcome.bytes[1];
        summary.oom_killed |= outcome.oom_killed;
        summary.output_cut |= outcome.output_cut;
        summary.killed |= matches!(outcome.ended, process::Ended::Stopped { killed: true, .. });
        summary.signal = match outcome.status {
            ExitStatus::Signaled { signal, .. } => signal,
            ExitStatus::Exited(_) => 0,
        };
    }

    /// Records the end. Later calls change nothing.
    pub(crate) fn end(&mut self, failure: Option<Failure>, log_bytes: u64) {
        if self.ended.is_some() {
            return;
        }
        self.ended = Some(SystemTime::now());
        self.summary.log_bytes = log_bytes;
        self.summary.state = State::Success.into();
        if let Some(failure) = failure {
            self.summary.state = failure.state().into();
            self.summary.error_kind = failure.kind.into();
            self.exit_code = failure.exit_code;
            self.summary.message = failure.message;
        }
    }

    /// Records why the log is incomplete.
    pub(crate) fn note_log_error(&mut self, message: String) {
        self.summary.log_error = message;
    }

    pub(crate) fn exit_code(&self) -> i32 {
        self.exit_code
    }

    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Returns the event with this number, if there is one.
    pub(crate) fn event(
        &self,
        number: usize,
        command: &[String],
        work_dir: &str,
    ) -> Option<StepResult> {
        let (step, status, exit_code) = match self.events.get(number)? {
            StepEvent::Finished(result) => return Some((**result).clone()),
            StepEvent::Changed {
                step,
                status,
                exit_code,
            } => (*step, *status, *exit_code),
        };
        let exec = ExecResult {
            command: command.to_vec(),
            work_dir: work_dir.to_owned(),
            exit_code,
        };
        let step = Step {
            name: self.names.get(step).cloned().unwrap_or_default(),
            ..Step::default()
        };
        Some(StepResult {
            step: Some(step),
            status: status.into(),
            exec_result: (status != Status::Running).then_some(exec),
            ..StepResult::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_arrive_in_order_and_the_first_end_wins() {
        let mut state = RequestState::new(vec!["a".to_owned(), "b".to_owned()]);
        state.step_started(0);
        state.step_ended(0, None);
        state.step_started(1);
        let failure = Failure {
            exit_code: 42,
            ..Failure::new(ErrorKind::StepFailure, "exit status 42")
        };
        state.step_ended(1, Some(&failure));
        state.end(Some(failure), 7);
        state.end(None, 8);
        state.note_log_error("no space left".to_owned());
        let told = (0..5).map_while(|number| state.event(number, &[], "/"));
        let told: Vec<_> = told
            .map(|result| {
                let code = result.exec_result.as_ref().map(|exec| exec.exit_code);
                (
                    result.step.clone().unwrap_or_default().name,
                    result.status(),
                    code,
                )
            })
            .collect();
        let name = str::to_owned;
        assert_eq!(
            told,
            [
                (name("a"), Status::Running, None),
                (name("a"), Status::Success, Some(0)),
                (name("b"), Status::Running, None),
                (name("b"), Status::Failure, Some(42)),
            ]
        );
        assert_eq!(state.exit_code(), 42);
        assert_eq!(state.summary().state(), State::Failure);
        assert_eq!(state.summary().log_bytes, 7);
        let words = |summary: &Summary| [summary.message.clone(), summary.log_error.clone()];
        assert_eq!(words(state.summary()), ["exit status 42", "no space left"]);
    }
}
