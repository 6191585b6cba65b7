//! Runs the steps of a request, one after the other until one fails.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use executor_core::{CancelCause, Cancellation};
use fail_point::fail_point;
use process::{Command, Ended, ExitStatus, Outcome, ProcessError, ProcessTree, Timing};

use super::course::Failure;
use super::error::words;
use super::functions::{Engine, Setting};
use super::log_output::{LogOutput, say};
use super::payload::{ScriptStep, Steps};
use super::prepare::Plan;
use super::request::Request;
use crate::wire::v1::result::ErrorKind;

/// Runs all steps and returns why they did not succeed, if so.
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
            let setting = Setting {
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
        request.update(|course| course.step_began(number));
        if !quiet {
            say(request, &format!("Running step \"{}\"", step.name));
        }
        let failure = run_step(request, number, step, &command, tree, &timing)
            .await
            .err();
        request.update(|course| course.step_ended(number, failure.as_ref()));
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
    let path = write_script(request, number, &step.script)?;
    let command = command.clone().arg(&path);
    // The script is in its file now.
    drop(step.script);
    let start = |error: &ProcessError| Failure::new(ErrorKind::Start, words(error));
    let process = tree.spawn(&command).map_err(|error| start(&error))?;
    let outcome = process
        .run(&mut LogOutput(request), &request.cancellation, timing)
        .await;
    let outcome = outcome.map_err(|error| Failure::new(ErrorKind::Internal, words(&error)))?;
    request.update(|course| course.add(&outcome));
    let _ = std::fs::remove_file(&path);
    judge(&outcome, &request.cancellation)
}

pub(super) fn judge(outcome: &Outcome, cancellation: &Cancellation) -> Result<(), Failure> {
    let exit_code = outcome.status.shell_code();
    if let Ended::Stopped { .. } = outcome.ended {
        return Err(Failure {
            exit_code,
            ..stopped(cancellation)
        });
    }
    let message = match outcome.status {
        ExitStatus::Exited(0) => return Ok(()),
        // The word before the number is what GitLab Runner looks for.
        ExitStatus::Exited(code) => format!("exit status {code}"),
        ExitStatus::Signaled { signal, .. } => format!("signal {signal}"),
    };
    Err(Failure {
        exit_code,
        ..Failure::new(ErrorKind::StepFailure, message)
    })
}

/// Returns the failure of what was stopped.
pub(super) fn stopped(cancellation: &Cancellation) -> Failure {
    let cause = cancellation.cause().unwrap_or(CancelCause::User);
    let kind = match cause {
        CancelCause::Timeout => ErrorKind::Timeout,
        _ => ErrorKind::Cancelled,
    };
    Failure::new(kind, format!("stopped {cause}"))
}

fn write_script(request: &Request, number: usize, script: &str) -> Result<PathBuf, Failure> {
    let path = request.directory.script(number);
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(&path)?.write_all(script.as_bytes())
    };
    match fail_point!("steps::script::write", write()) {
        Ok(()) => Ok(path),
        Err(error) => Err(Failure::new(
            ErrorKind::Internal,
            write_words(&path, &error),
        )),
    }
}

fn write_words(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write script {}: {error}", path.display())
}
