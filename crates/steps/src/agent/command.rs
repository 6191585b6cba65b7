//! The command that runs beside the agent, whose end is the end of the agent.

use std::ffi::OsString;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use executor_core::Cancellation;
use process::{
    Command, Containment, Outcome, ProcessError, Settings, Stdin, Stream, Supervisor, Timing,
};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// The time from SIGTERM to SIGKILL.
const TERMINATE_GRACE: Duration = Duration::from_secs(5);

/// The prefix of variables for the agent alone.
const OWN: &str = "RUNWRIGHT_AGENT";

/// The exit codes of shells for a missing program, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// A running command.
#[derive(Debug)]
pub(crate) struct Running(oneshot::Receiver<u8>);

impl Running {
    /// Returns its exit code.
    pub(crate) async fn ended(&mut self) -> u8 {
        (&mut self.0).await.unwrap_or(NOT_RUN)
    }
}

/// Starts the command in its own thread, so that an unread output blocks nothing else.
///
/// It has the agent's standard input, output and error.
pub(crate) fn start(words: Vec<OsString>, stop: Cancellation) -> io::Result<Running> {
    let (sender, receiver) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        let code = run(words, &stop).unwrap_or_else(|error| {
            print_error(&format!("runwright-agent: {error}"));
            match error {
                ProcessError::NotFound { .. } => NOT_FOUND,
                _ => NOT_RUN,
            }
        });
        // The agent may have ended before.
        let _ = sender.send(code);
    })?;
    Ok(Running(receiver))
}

fn run(words: Vec<OsString>, stop: &Cancellation) -> Result<u8, ProcessError> {
    let failed = |source| ProcessError::Containment {
        reason: "start a runtime".to_owned(),
        source: Some(source),
    };
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed)?;
    let outcome = runtime.block_on(run_to_end(words, stop));
    // A thread may block on standard input.
    runtime.shutdown_background();
    let code = outcome?.status.shell_code();
    Ok(u8::try_from(code).unwrap_or(NOT_RUN))
}

async fn run_to_end(words: Vec<OsString>, stop: &Cancellation) -> Result<Outcome, ProcessError> {
    let supervisor = Supervisor::start(Settings {
        containment: Containment::NoCgroup,
        ..Settings::default()
    })?;
    let tree = supervisor.tree();
    let mut words = words.into_iter();
    let mut process = tree.spawn(
        &Command::new(words.next().unwrap_or_default())
            .args(words)
            .envs(inherited(std::env::vars_os()))
            .stdin(Stdin::Piped),
    )?;
    let input = process.take_stdin();
    let mut sink = |stream: Stream, bytes: &[u8]| {
        // A closed output is no reason to stop.
        let _ = match stream {
            Stream::Stdout => io::stdout()
                .write_all(bytes)
                .and_then(|()| io::stdout().flush()),
            Stream::Stderr => io::stderr().write_all(bytes),
        };
    };
    let timing = Timing {
        terminate_grace: TERMINATE_GRACE,
        ..Timing::default()
    };
    let feed = async {
        if let Some(mut input) = input {
            let _ = tokio::io::copy(&mut tokio::io::stdin(), &mut input).await;
        }
        std::future::pending::<()>().await;
    };
    let outcome = tokio::select! {
        outcome = process.run(&mut sink, stop, &timing) => outcome,
        () = feed => unreachable!("it is always pending"),
    };
    tree.close().await?;
    outcome
}

/// Removes the variables for the agent alone.
fn inherited(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    variables.filter(|(name, _)| !name.as_encoded_bytes().starts_with(OWN.as_bytes()))
}

/// Writes a line to standard error, if it is open.
pub(crate) fn print_error(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_agent_are_not_inherited() {
        let variables = [
            "PATH",
            "RUNWRIGHT_AGENT",
            "RUNWRIGHT_AGENT_ARGV",
            "RUNWRIGHT",
        ];
        let variables = variables.map(|name| (name.into(), OsString::new()));
        let names: Vec<_> = inherited(variables.into_iter())
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["PATH", "RUNWRIGHT"]);
    }
}
