//! Short tool calls that return their whole output.

use std::time::Duration;

use executor_core::StopLevel;
use tokio::time::{Instant, sleep_until};

use crate::command::Command;
use crate::error::ProcessError;
use crate::process::Timing;
use crate::sink::Stream;
use crate::status::Outcome;
use crate::stop::StopSignal;
use crate::tree::ProcessTree;

/// The output and outcome of a tool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Captured {
    /// The outcome.
    pub outcome: Outcome,
    /// The first [`CaptureLimits::max_bytes`] of standard output.
    pub stdout: Vec<u8>,
    /// The first [`CaptureLimits::max_bytes`] of standard error.
    pub stderr: Vec<u8>,
    /// Whether the output was longer than that.
    pub truncated: bool,
}

/// The limits of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureLimits {
    /// How long the tool may take. Default: 60 s.
    pub deadline: Duration,
    /// The number of bytes of each stream to keep; the rest is read and dropped. Default: 1 MiB.
    pub max_bytes: usize,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_mins(1),
            max_bytes: 1 << 20,
        }
    }
}

impl ProcessTree {
    /// Runs a short tool, such as git, and returns its output.
    ///
    /// # Cancellation
    ///
    /// The tool is killed at once on any request of `stop`, and when the future is dropped.
    ///
    /// # Errors
    ///
    /// Fails as [`spawn`](Self::spawn) and [`Process::run`](crate::Process::run) do,
    /// with [`Deadline`](ProcessError::Deadline) if the tool takes too long, and with
    /// [`Stopped`](ProcessError::Stopped) after a request to stop. An exit code
    /// other than 0 is not an error.
    pub async fn output<T: StopSignal + ?Sized>(
        &self,
        command: &Command,
        limits: &CaptureLimits,
        stop: &T,
    ) -> Result<Captured, ProcessError> {
        let mut streams = [Vec::new(), Vec::new()];
        let mut truncated = false;
        let mut sink = |stream: Stream, bytes: &[u8]| {
            let kept: &mut Vec<u8> = &mut streams[stream as usize];
            let room = (limits.max_bytes - kept.len()).min(bytes.len());
            kept.extend_from_slice(&bytes[..room]);
            truncated |= room < bytes.len();
        };
        let bounded = Bounded {
            stop,
            deadline: Instant::now().checked_add(limits.deadline),
        };
        let process = self.spawn(command)?;
        let outcome = process.run(&mut sink, &bounded, &Timing::default()).await?;
        if outcome.ended != crate::Ended::ByItself {
            let program = command.program();
            return Err(if bounded.is_over() {
                ProcessError::Deadline {
                    program,
                    after: limits.deadline,
                }
            } else {
                ProcessError::Stopped { program }
            });
        }
        let [stdout, stderr] = streams;
        Ok(Captured {
            outcome,
            stdout,
            stderr,
            truncated,
        })
    }
}

/// Stops on any request of the caller or at the deadline.
struct Bounded<'a, T: ?Sized> {
    stop: &'a T,
    /// `None` if it lies beyond the clock's range.
    deadline: Option<Instant>,
}

impl<T: ?Sized> Bounded<'_, T> {
    fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl<T: StopSignal + ?Sized> StopSignal for Bounded<'_, T> {
    async fn reached(&self, _level: StopLevel) {
        let over = async {
            match self.deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop.reached(StopLevel::Cancel) => {}
            () = over => {}
        }
    }
}
