//! The measurements of one run of a program.

use std::time::Duration;

use anyhow::bail;
use process::{ExitStatus, Outcome};

/// Messages about exhausted memory: from Python, V8, the C library and shells.
const WORDS_OF_WANT: [&str; 3] = ["MemoryError", "out of memory", "annot allocate"];

/// One run of a program.
#[derive(Debug)]
pub struct Run {
    /// From before its start until it and all its descendants have ended.
    pub wall: Duration,
    /// The CPU time of the program and the children it waited for.
    pub cpu: Duration,
    /// The highest resident memory of any of its processes.
    pub peak: u64,
    /// How it ended.
    pub end: End,
    /// The end of its output.
    tail: Vec<u8>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Successfully.
    Success,
    /// With an error of its own.
    Failed(ExitStatus),
    /// Because memory ran out.
    OutOfMemory,
    /// Killed at its time limit.
    TimedOut,
}

impl Run {
    pub(crate) fn ended(wall: Duration, outcome: &Outcome, tail: Vec<u8>) -> Self {
        let end = if outcome.success() {
            End::Success
        } else if outcome.oom_killed || speaks_of_want(&tail) {
            End::OutOfMemory
        } else {
            End::Failed(outcome.status)
        };
        Self {
            wall,
            cpu: outcome.usage.user + outcome.usage.system,
            peak: outcome.usage.max_resident,
            end,
            tail,
        }
    }

    pub(crate) fn timed_out(wall: Duration, tail: Vec<u8>) -> Self {
        let end = if speaks_of_want(&tail) {
            End::OutOfMemory
        } else {
            End::TimedOut
        };
        Self {
            wall,
            cpu: Duration::ZERO,
            peak: 0,
            end,
            tail,
        }
    }

    /// Returns the run if the program succeeded.
    ///
    /// # Errors
    ///
    /// Otherwise fails with the end of its output.
    pub fn succeeded(self) -> anyhow::Result<Self> {
        if self.end != End::Success {
            bail!("{}: {}", self.end, self.last_words());
        }
        Ok(self)
    }

    /// Returns the end of its output.
    pub fn last_words(&self) -> String {
        String::from_utf8_lossy(&self.tail).trim().to_owned()
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Success => formatter.write_str("ended well"),
            Self::Failed(status) => write!(formatter, "FAILED with {status}"),
            Self::OutOfMemory => formatter.write_str("DIED OF MEMORY"),
            Self::TimedOut => formatter.write_str("NO END within the time limit"),
        }
    }
}

fn speaks_of_want(tail: &[u8]) -> bool {
    let tail = String::from_utf8_lossy(tail);
    WORDS_OF_WANT.iter().any(|words| tail.contains(words))
}
