//! Programs that create machines.

use crate::driver::DriverError;
use process::{CaptureLimits, Captured, Command, NeverStop, ProcessTree};
use std::time::Duration;

/// The most bytes of an answer.
const LONGEST: usize = 16 << 20;

/// The last lines of an error output that a message has.
const LINES: usize = 5;

/// Runs a program in the environment of the runner, and returns what it prints. Dropped, it is killed: the pool sets the deadline.
///
/// Processes that it leaves are machines of this host, and live until the runner ends.
pub(crate) async fn run(
    processes: &ProcessTree,
    command: Command,
) -> Result<Captured, DriverError> {
    let program = command.program();
    let command = command
        .envs(processes.environment().iter())
        .keep_descendants();
    let limits = CaptureLimits {
        deadline: Duration::MAX,
        max_bytes: LONGEST,
    };
    let captured = processes.output(&command, &limits, &NeverStop).await;
    let captured = captured.map_err(|error| DriverError {
        message: format!("run {program}"),
        source: Some(error.into()),
    })?;
    if captured.truncated {
        let message = format!("{program} printed more than {} MiB", LONGEST >> 20);
        return Err(DriverError::new(message));
    }
    Ok(captured)
}

/// Returns the end of an error output, for a message.
pub(crate) fn stderr_tail(captured: &Captured) -> String {
    let text = String::from_utf8_lossy(&captured.stderr);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}
