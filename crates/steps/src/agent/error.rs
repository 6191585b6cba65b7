use std::io;
use std::path::PathBuf;

/// Why no agent can be put into an environment.
///
/// The caller continues without an agent, and reports this once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No agent was found.
    #[error(
        "found no runwright-agent beside this program or in it, and RUNWRIGHT_AGENT is not set"
    )]
    Absent,
    /// The file cannot be read.
    #[error("read the agent {}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An agent was found, but cannot be used.
    #[error("the agent {place} cannot be used: {reason}")]
    Unfit {
        /// The path, or that it is in this program.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl AgentError {
    /// Returns what the user can do.
    pub fn help(&self) -> &'static str {
        "build one with `cargo xtask agent`, and set RUNWRIGHT_AGENT to its path or put it beside this program"
    }
}
