//! Runs the processes of a request.

use super::request::Request;
use super::state::Failure;
use crate::wire::v1::result::ErrorKind;
use executor_core::{Cancellation, TraceStream, chain};
use fail_point::fail_point;
use process::{Command, Ended, ExitStatus, Outcome, ProcessError, ProcessTree, Timing};
use process::{OutputSink, Stream};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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
            ..Failure::stopped(cancellation)
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
