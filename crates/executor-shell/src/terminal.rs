//! Interactive shells beside a running job.

use crate::environment::RunnerEnvironment;
use crate::error::ShellError;
use crate::host::Host;
use crate::session::{ShellSession, open_pair, watched};
use crate::session_files::SessionFiles;
use crate::stage_files::write_missing;
use executor_core::ability::{Terminal, TerminalRequest, TerminalSession};
use executor_core::{BuildDirs, BuildError, Cancellation, ShellInfo, ShellKind, StageVariables};
use parking_lot::Mutex;
use process::{Command, Process, ProcessTree};
use shells::{InteractiveShell, ShellCommand};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Connects a shell to the terminal whose path is the first argument.
///
/// Process trees give every child pipes. A small shell replaces them by the terminal, and `setsid` of util-linux makes it the
/// controlling terminal, for Ctrl-C and job control.
const ATTACH: &str = r#"exec <>"$0" >&0 2>&0 setsid --ctty --wait "$@""#;

/// Opens shells in the project directory, with the variables of the current stage.
#[derive(Debug)]
pub(crate) struct ShellTerminal {
    tree: ProcessTree,
    shell: ShellInfo,
    project_dir: PathBuf,
    temp_dir: PathBuf,
    environment: RunnerEnvironment,
    variables: Mutex<Arc<StageVariables>>,
    /// The number of shells opened so far.
    opened: AtomicU64,
}

impl ShellTerminal {
    pub(crate) fn new(
        host: &Host,
        tree: &ProcessTree,
        shell: &ShellInfo,
        dirs: &BuildDirs,
    ) -> Self {
        Self {
            tree: tree.clone(),
            shell: shell.clone().with_kind(ShellKind::Interactive),
            project_dir: (&dirs.project_dir).into(),
            temp_dir: (&dirs.temp_dir).into(),
            environment: host.environment.clone(),
            variables: Mutex::default(),
            opened: AtomicU64::new(1),
        }
    }

    /// Sets the variables of shells opened from now on.
    pub(crate) fn set_variables(&self, variables: &Arc<StageVariables>) {
        *self.variables.lock() = Arc::clone(variables);
    }

    /// Returns the variables of the current or last stage.
    fn variables(&self) -> Arc<StageVariables> {
        Arc::clone(&self.variables.lock())
    }

    fn command(
        &self,
        terminal: &str,
        shell: &ShellCommand,
        more: &[(&'static str, String)],
        variables: &StageVariables,
    ) -> Command {
        let more = more.iter().map(|(key, value)| (*key, value.as_str()));
        Command::new("/bin/sh")
            .args(["-c", ATTACH, terminal])
            .args(shell.argv())
            .env("TERM", "xterm-256color")
            .envs(self.environment.with(variables, &self.temp_dir))
            .envs(more)
            .current_dir(&self.project_dir)
    }

    /// Starts a shell at the terminal with this path.
    fn start(&self, terminal: &str, request: &TerminalRequest) -> Result<Started, ShellError> {
        let variables = request.variables.clone();
        let variables = variables.unwrap_or_else(|| self.variables());
        // The directory exists from `prepare` to the end of the job.
        if !self.temp_dir.is_dir() {
            let path = self.temp_dir.clone();
            let source = io::ErrorKind::NotFound.into();
            let what = "temporary directory";
            return Err(ShellError::Directory { what, path, source });
        }
        write_missing(&self.temp_dir, &variables)?;
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        // Names that start with a dot are not variables.
        let directory = self.temp_dir.join(format!(".shell-{number}"));
        let path = directory.to_string_lossy();
        let interactive =
            InteractiveShell::new(&self.shell, &path, &request.title, &request.history);
        // Another user could not read the files, and other shells have none.
        let Some(mut interactive) = interactive.ok().filter(|_| self.shell.user.is_none()) else {
            let plain = ShellCommand::reading_stdin(&self.shell);
            let command = self.command(terminal, &plain, &[], &variables);
            return Ok((self.tree.spawn(&command)?, None));
        };
        interactive.profile = request.profile;
        let files = SessionFiles::make(directory.clone())?;
        files.write(&interactive, &self.shell, request, &variables)?;
        let (shell, more) = (interactive.command(), interactive.environment());
        let command = self.command(terminal, &shell, &more, &variables);
        Ok((self.tree.spawn(&command)?, Some(files)))
    }
}

/// A shell and its own files.
type Started = (Process, Option<SessionFiles>);

#[async_trait::async_trait]
impl Terminal for ShellTerminal {
    async fn open(
        &self,
        request: TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        cancellation.check()?;
        let error = |source| ShellError::Terminal {
            action: "open",
            source,
        };
        let (terminal, path) = open_pair(request.size).map_err(error)?;
        let terminal = watched(terminal).map_err(error)?;
        let (process, files) = self.start(&path, &request)?;
        Ok(Box::new(ShellSession::new(terminal, process, files)))
    }
}
