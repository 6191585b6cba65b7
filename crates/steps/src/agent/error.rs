//! Why there is no agent to put into an environment.

use std::io;
use std::path::PathBuf;

/// Why there is no agent to put into an environment.
///
/// Whoever gets one goes on without an agent, and says this once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// There is none anywhere.
    #[error(
        "there is no runwright-agent beside this program, none in it, and RUNWRIGHT_AGENT names none"
    )]
    Absent,
    /// Its file cannot be read.
    #[error("read the agent {}", path.display())]
    Read {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is there and cannot be used.
    #[error("the agent {place} cannot be used: {reason}")]
    Unfit {
        /// Its path, or that it is in this program.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl AgentError {
    /// Returns what a user can do.
    pub fn help(&self) -> &'static str {
        "build one with `cargo xtask agent` and name it in the variable RUNWRIGHT_AGENT, or put it beside this program"
    }
}
