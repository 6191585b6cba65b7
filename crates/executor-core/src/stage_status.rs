//! The status of a process at its end.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The exit code of a process.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ExitCode(pub i32);

impl ExitCode {
    /// Success.
    pub const SUCCESS: Self = Self(0);

    /// Returns whether the code is zero.
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The status of a stage's main process after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StageStatus {
    /// It exited with this code.
    Exited(ExitCode),
    /// A signal ended it.
    Signaled {
        /// The signal's number.
        signal: i32,
    },
}

impl StageStatus {
    /// Returns whether the stage succeeded.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Exited(code) if code.is_success())
    }

    /// Returns the code a shell would report: 128 plus the number for a signal.
    pub const fn exit_code(self) -> ExitCode {
        match self {
            Self::Exited(code) => code,
            Self::Signaled { signal } => ExitCode(128 + signal),
        }
    }
}

impl fmt::Display for StageStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signaled { signal } => write!(f, "signal {signal}"),
        }
    }
}
