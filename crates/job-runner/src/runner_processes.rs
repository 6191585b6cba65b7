//! The processes of the runner itself, and commands in the job's log.

use executor_core::{BuildError, Cancellation, JobTrace, Retryability};
use process::{
    Command, Ended, Journal, ProcessError, ProcessTree, Supervisor, Timing, TraceOutput,
};
use std::path::Path;
use std::sync::OnceLock;

/// The processes the runner itself starts for one job.
#[derive(Debug)]
pub(crate) struct RunnerProcesses {
    supervisor: Supervisor,
    /// Created on first use: most jobs of a run need none.
    tree: OnceLock<ProcessTree>,
}

impl RunnerProcesses {
    pub(crate) fn new(supervisor: Supervisor) -> Self {
        Self {
            supervisor,
            tree: OnceLock::new(),
        }
    }

    /// Returns the tree of the processes.
    pub(crate) fn tree(&self) -> &ProcessTree {
        self.tree.get_or_init(|| self.supervisor.tree())
    }

    /// Returns the supervisor of the processes.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Records a directory before it is filled, so that it is removed if the runner is killed.
    pub(crate) fn record_directory(&self, directory: &Path) -> Result<(), BuildError> {
        self.in_journal(|journal| journal.record_dir(directory))
    }

    /// Removes the record, once the directory is removed.
    pub(crate) fn forget_directory(&self, directory: &Path) -> Result<(), BuildError> {
        self.in_journal(|journal| journal.forget_dir(directory))
    }

    fn in_journal(
        &self,
        write: impl FnOnce(&Journal) -> Result<(), ProcessError>,
    ) -> Result<(), BuildError> {
        let written = self.supervisor.journal().map_or(Ok(()), write);
        written.map_err(|source| BuildError::system("runner", "note the build directory", source))
    }

    /// Ends processes that still run.
    pub(crate) async fn close(&self) -> Result<(), ProcessError> {
        match self.tree.get() {
            Some(tree) => tree.close().await,
            None => Ok(()),
        }
    }
}

/// Runs `command` with its output in the job's log and returns whether it succeeded.
///
/// # Errors
///
/// A system failure when it cannot be run.
///
/// # Cancellation
///
/// Stops the command as a script, with [`BuildError::Canceled`].
pub(crate) async fn run_logged(
    processes: &ProcessTree,
    command: &Command,
    trace: &dyn JobTrace,
    cancellation: &Cancellation,
) -> Result<bool, BuildError> {
    let failed = |error: ProcessError| BuildError::System {
        backend: "runner",
        message: format!("run {}", command.program()),
        source: Some(error.into()),
        retry: Retryability::Temporary,
    };
    let process = processes.spawn(command).map_err(failed)?;
    let outcome = process
        .run(&mut TraceOutput(trace), cancellation, &Timing::default())
        .await
        .map_err(failed)?;
    if outcome.ended != Ended::ByItself
        && let Some(cause) = cancellation.cause()
    {
        return Err(BuildError::Canceled(cause));
    }
    Ok(outcome.success())
}
