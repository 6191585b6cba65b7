use super::error_output::ErrorOutput;
use super::route::Route;
use super::stream::SshStream;
use process::{CaptureLimits, Captured, Command, NeverStop, ProcessTree, Stdin, Supervisor};
use std::io;
use std::time::Duration;

/// The time limit of an ssh that makes no connection.
const LOCAL: Duration = Duration::from_secs(10);

/// The ssh of the user, by which an engine on another host is reached.
#[derive(Debug, Clone)]
pub(super) struct SshProgram {
    pub(super) supervisor: Supervisor,
    tree: ProcessTree,
    pub(super) route: Route,
    pub(super) error_output: ErrorOutput,
}

impl SshProgram {
    pub(super) fn new(supervisor: &Supervisor, route: Route) -> Self {
        Self {
            supervisor: supervisor.clone(),
            tree: supervisor.tree(),
            route,
            error_output: ErrorOutput::default(),
        }
    }

    /// Starts an ssh with piped input and output.
    pub(super) fn start(&self, words: Vec<String>) -> io::Result<SshStream> {
        let command = self.command(words).stdin(Stdin::Piped);
        let process = self.tree.spawn(&command).map_err(io::Error::other)?;
        SshStream::of(process, &self.error_output)
    }

    /// Runs an ssh command that makes no connection itself.
    pub(super) async fn run(&self, words: Vec<String>) -> io::Result<Captured> {
        let limits = CaptureLimits {
            deadline: LOCAL,
            ..CaptureLimits::default()
        };
        let output = self
            .tree
            .output(&self.command(words), &limits, &NeverStop)
            .await;
        output.map_err(io::Error::other)
    }

    fn command(&self, words: Vec<String>) -> Command {
        Command::new(&self.route.program)
            .args(words)
            // Our own tool needs the home directory, the agent and the search path.
            .envs(self.tree.environment().iter())
    }
}
