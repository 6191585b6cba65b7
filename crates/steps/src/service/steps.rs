//! Runs the steps of a request in order, until one fails.

use super::functions::{Engine, StepSettings};
use super::payload::{ScriptStep, Steps};
use super::prepare::Plan;
use super::request::Request;
use super::state::Failure;
use crate::wire::v1::result::ErrorKind;
use executor_core::TraceStream;
use executor_core::{CancelCause, Cancellation, chain};
use fail_point::fail_point;
use process::{Command, Ended, ExitStatus, Outcome, ProcessError, ProcessTree, Timing};
use process::{OutputSink, Stream};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Runs all steps; returns why they did not succeed.
pub(crate) async fn run(request: &Request, plan: Plan, tree: &ProcessTree) -> Option<Failure> {
    let Plan {
        steps,
        env,
        vars,
        timing,
        quiet,
        ..
    } = plan;
    let steps = match steps {
        Steps::Scripts(steps) => steps,
        Steps::Function(function) => {
            let setting = StepSettings {
                env,
                vars,
                timing,
                quiet,
            };
            return Engine::new(request, tree, setting).run(&function).await;
        }
    };
    let command = Command::new(
        request
            .command
            .first()
            .map(String::as_str)
            .unwrap_or_default(),
    )
    .args(request.command.iter().skip(1))
    .envs(env)
    .current_dir(&request.work_dir);
    for (number, step) in steps.into_iter().enumerate() {
        if request.cancellation.is_canceled() {
            return Some(stopped(&request.cancellation));
        }
        request.update(|state| state.step_started(number));
        if !quiet {
            log_line(request, &format!("Running step \"{}\"", step.name));
        }
        let failure = run_step(request, number, step, &command, tree, &timing)
            .await
            .err();
        request.update(|state| state.step_ended(number, failure.as_ref()));
        if failure.is_some() {
            return failure;
        }
    }
    None
}

async fn run_step(
    request: &Request,
    number: usize,
    step: ScriptStep,
    command: &Command,
    tree: &ProcessTree,
    timing: &Timing,
) -> Result<(), Failure> {
    let path = request.directory.script(number);
    write_script(&path, &step.script)?;
    let command = command.clone().arg(&path);
    // Frees the memory; the script is in its file.
    drop(step.script);
    let ran = run_process(request, &command, tree, timing).await;
    let _ = std::fs::remove_file(&path);
    ran
}

/// Runs a process of a request; the error is why it did not succeed.
pub(super) async fn run_process(
    request: &Request,
    command: &Command,
    tree: &ProcessTree,
    timing: &Timing,
) -> Result<(), Failure> {
    let failed = |kind: ErrorKind| move |error: ProcessError| Failure::new(kind, chain(&error));
    let process = tree.spawn(command).map_err(failed(ErrorKind::Start))?;
    let outcome = process
        .run(&mut LogOutput(request), &request.cancellation, timing)
        .await
        .map_err(failed(ErrorKind::Internal))?;
    request.update(|state| state.add(&outcome));
    judge(&outcome, &request.cancellation)
}

fn judge(outcome: &Outcome, cancellation: &Cancellation) -> Result<(), Failure> {
    let exit_code = outcome.status.shell_code();
    if let Ended::Stopped { .. } = outcome.ended {
        return Err(Failure {
            exit_code,
            ..stopped(cancellation)
        });
    }
    let message = match outcome.status {
        ExitStatus::Exited(0) => return Ok(()),
        // GitLab Runner looks for the words before the number.
        ExitStatus::Exited(code) => format!("exit status {code}"),
        ExitStatus::Signaled { signal, .. } => format!("signal {signal}"),
    };
    Err(Failure {
        exit_code,
        ..Failure::new(ErrorKind::StepFailure, message)
    })
}

/// Returns the failure of a stopped request.
pub(super) fn stopped(cancellation: &Cancellation) -> Failure {
    let Some(cause) = cancellation.cause() else {
        return Failure::new(ErrorKind::Internal, "stopped without a request".to_owned());
    };
    let kind = match cause {
        CancelCause::Timeout => ErrorKind::Timeout,
        _ => ErrorKind::Cancelled,
    };
    Failure::new(kind, format!("stopped {cause}"))
}

/// Writes a script to a new file that only the owner can read.
pub(super) fn write_script(path: &Path, script: &str) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(path)?.write_all(script.as_bytes())
    };
    fail_point!("steps::script::write", write()).map_err(|error| {
        let message = format!("cannot write script {}: {error}", path.display());
        Failure::new(ErrorKind::Internal, message)
    })
}

/// Writes the output of a step to the log of its request.
#[derive(Debug)]
pub(crate) struct LogOutput<'a>(pub(crate) &'a Request);

impl OutputSink for LogOutput<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        let stream = match stream {
            Stream::Stdout => TraceStream::STDOUT,
            Stream::Stderr => TraceStream::STDERR,
        };
        self.0.log.write(stream, bytes);
        self.0.note_output();
        self.0.notify();
    }

    fn idle(&mut self) {
        self.0.log.flush_idle();
        self.0.notify();
    }
}

/// Writes a line of the service itself to the log.
pub(crate) fn log_line(request: &Request, line: &str) {
    request.log.write(TraceStream::SYSTEM, line.as_bytes());
    request.log.write(TraceStream::SYSTEM, b"\n");
    request.notify();
}
