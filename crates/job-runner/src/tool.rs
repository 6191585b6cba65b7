//! Running git for the runner's own work.

use executor_core::{BuildError, Cancellation, JobTrace, Retryability};
use process::{
    CaptureLimits, Command, Ended, Journal, ProcessError, ProcessTree, StopSignal, Supervisor,
    Timing, TraceOutput,
};
use shells::git::is_foreign_variable;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// The most a listing of files may be long.
const LONGEST_LISTING: usize = 1 << 30;

/// The processes the runner itself starts for one job.
#[derive(Debug)]
pub(crate) struct Tools {
    supervisor: Supervisor,
    /// Made when it is needed: most jobs of a run need none.
    tree: OnceLock<ProcessTree>,
}

impl Tools {
    pub(crate) fn new(supervisor: Supervisor) -> Self {
        Self {
            supervisor,
            tree: OnceLock::new(),
        }
    }

    /// Returns where the processes belong.
    pub(crate) fn processes(&self) -> &ProcessTree {
        self.tree.get_or_init(|| self.supervisor.tree())
    }

    /// Returns whose processes they are.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Notes a directory before it is filled, so that it is removed should the runner be killed.
    pub(crate) fn note_directory(&self, directory: &Path) -> Result<(), BuildError> {
        self.in_journal(|journal| journal.record_dir(directory))
    }

    /// Takes the note back, once the directory is gone.
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

    /// Ends what still runs.
    pub(crate) async fn close(&self) -> Result<(), ProcessError> {
        match self.tree.get() {
            Some(tree) => tree.close().await,
            None => Ok(()),
        }
    }
}

/// What a job may have left in a repository, and git would run.
const UNTRUSTED_REPO_FLAGS: [&str; 4] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
];

/// Runs a git command that only reads, in `directory`, and returns its standard output.
///
/// It runs neither hooks nor a monitor of files: those of the user are for what he does himself, and
/// those that a job has left are for nobody.
///
/// # Errors
///
/// [`ToolError`] when it cannot be run, fails or says more than a gibibyte.
///
/// # Cancellation
///
/// Killed at once, with [`ProcessError::Stopped`].
pub(crate) async fn read<S: StopSignal + ?Sized>(
    processes: &ProcessTree,
    directory: &Path,
    args: &[&str],
    stop: &S,
) -> Result<Vec<u8>, ToolError> {
    let command = Command::new("git")
        .args(UNTRUSTED_REPO_FLAGS)
        .args(args.iter().copied())
        .envs(own_environment(processes))
        .env("GIT_OPTIONAL_LOCKS", "0")
        .current_dir(directory);
    let limits = CaptureLimits {
        max_bytes: LONGEST_LISTING,
        ..CaptureLimits::default()
    };
    let captured = processes.output(&command, &limits, stop).await?;
    let args = || args.join(" ");
    if captured.truncated {
        return Err(ToolError::TooLong { args: args() });
    }
    if !captured.outcome.success() {
        return Err(ToolError::Failed {
            args: args(),
            status: captured.outcome.status.to_string(),
            said: String::from_utf8_lossy(&captured.stderr).trim().to_owned(),
        });
    }
    Ok(captured.stdout)
}

/// Returns the paths in a listing whose entries end with NUL.
pub(crate) fn paths_in(listing: &[u8]) -> impl Iterator<Item = &Path> {
    let names = listing
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    names.map(|name| Path::new(OsStr::from_bytes(name)))
}

/// Returns the runner's own environment without what would point git at another repository.
pub(crate) fn own_environment(processes: &ProcessTree) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    let environment = processes.environment().iter();
    environment.filter(|(name, _)| !name.to_str().is_some_and(is_foreign_variable))
}

/// Runs `command` with its output in the job's log and returns whether it succeeded.
///
/// # Errors
///
/// A system failure when it cannot be run.
///
/// # Cancellation
///
/// Obeyed as for a script, with [`BuildError::Canceled`].
pub(crate) async fn logged(
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

/// Why git could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It could not be run.
    #[error("run git")]
    Run(#[from] ProcessError),
    /// It failed.
    #[error("git {args} ended with {status}: {said}")]
    Failed {
        /// Its arguments.
        args: String,
        /// How it ended.
        status: String,
        /// What it said about that.
        said: String,
    },
    /// It said more than can be kept.
    #[error("git {args} says too much")]
    TooLong {
        /// Its arguments.
        args: String,
    },
}
