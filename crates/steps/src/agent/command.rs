//! The program that runs beside the agent, and decides when it ends.

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

/// From SIGTERM to SIGKILL.
const TERMINATE_GRACE: Duration = Duration::from_secs(5);

/// What begins the names of variables that are for the agent alone.
const OWN: &str = "RUNWRIGHT_AGENT";

/// What a shell says for a program that is not there, and for one that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// A program on its way to its end.
#[derive(Debug)]
pub(crate) struct Running(oneshot::Receiver<u8>);

impl Running {
    /// Returns the code to end with.
    pub(crate) async fn ended(&mut self) -> u8 {
        (&mut self.0).await.unwrap_or(NOT_RUN)
    }
}

/// Starts the program in a thread of its own, so that whoever does not read its output holds up nobody else.
///
/// It gets the agent's standard input, output and error.
pub(crate) fn start(words: Vec<OsString>, stop: Cancellation) -> io::Result<Running> {
    let (sender, receiver) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        let code = run(words, &stop).unwrap_or_else(|error| {
            say(&format!("runwright-agent: {error}"));
            match error {
                ProcessError::NotFound { .. } => NOT_FOUND,
                _ => NOT_RUN,
            }
        });
        // The agent may have ended first.
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
    let outcome = runtime.block_on(attend(words, stop));
    // A thread may wait for standard input for ever.
    runtime.shutdown_background();
    let code = outcome?.status.shell_code();
    Ok(u8::try_from(code).unwrap_or(NOT_RUN))
}

async fn attend(words: Vec<OsString>, stop: &Cancellation) -> Result<Outcome, ProcessError> {
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
        // Nobody may listen any more, which is no reason to stop.
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
        () = feed => unreachable!("it pends for ever"),
    };
    tree.close().await?;
    outcome
}

/// Leaves out what is for the agent alone.
fn inherited(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    variables.filter(|(name, _)| !name.as_encoded_bytes().starts_with(OWN.as_bytes()))
}

/// Says something on standard error, to whoever listens.
pub(crate) fn say(line: &str) {
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
