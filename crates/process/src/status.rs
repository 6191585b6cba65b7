//! The end of a process.

use std::fmt;
use std::time::Duration;

use executor_core::StopLevel;

/// Everything known about a process after its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The main process's own status.
    pub status: ExitStatus,
    /// Whether it ended by itself or was stopped.
    pub ended: Ended,
    /// CPU time and memory of the main process and the children it waited for.
    pub usage: Usage,
    /// Whether the kernel killed a process of the tree for lack of memory meanwhile.
    ///
    /// Always false where the tree has no memory controller.
    pub oom_killed: bool,
    /// Whether a pipe was cut after the pipe grace because a background process held it.
    pub output_cut: bool,
    /// The bytes of standard output and standard error.
    pub bytes: [u64; 2],
    /// Time from the start to the end of the main process.
    pub elapsed: Duration,
}

impl Outcome {
    /// Returns whether the process ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.ended == Ended::ByItself && self.status == ExitStatus::Exited(0)
    }
}

/// The exit status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// It called `exit` with this code.
    Exited(u8),
    /// A signal ended it.
    Signaled {
        /// The signal's number.
        signal: i32,
        /// Whether it left a core file.
        core_dumped: bool,
    },
}

impl ExitStatus {
    /// Returns the code as a POSIX shell reports it: a signal counts as 128 plus its number.
    pub fn shell_code(self) -> i32 {
        match self {
            Self::Exited(code) => i32::from(code),
            Self::Signaled { signal, .. } => 128 + signal,
        }
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exit code {code}"),
            Self::Signaled {
                signal,
                core_dumped: false,
            } => write!(formatter, "signal {signal}"),
            Self::Signaled {
                signal,
                core_dumped: true,
            } => {
                write!(formatter, "signal {signal} (core dumped)")
            }
        }
    }
}

/// Why a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ended {
    /// No stop was requested.
    ByItself,
    /// A stop was requested before it ended.
    Stopped {
        /// The strongest request made before the end.
        level: StopLevel,
        /// Whether it was killed, by request or after the grace period.
        killed: bool,
    },
}

/// The resources that a process used, as counted by the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Largest resident set, in bytes.
    pub max_resident: u64,
}
