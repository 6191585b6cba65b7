//! Interactive shells beside a running job.

use crate::environment::RunnerEnvironment;
use crate::error::ShellError;
use crate::host::Host;
use executor_core::ability::{Terminal, TerminalRequest, TerminalSession, TerminalSize};
use executor_core::{
    BuildDirs, BuildError, Cancellation, ExitCode, ShellInfo, ShellKind, StageStatus,
    StageVariables,
};
use process::{Command, ExitStatus, NeverStop, Process, ProcessTree, Stream, Timing};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinSet;

/// Joins a shell to the terminal whose path is the first argument.
///
/// The trees of `process` give every child pipes. So a small shell puts the terminal in their
/// place, and `setsid` of util-linux makes it the one that Ctrl-C and job control belong to.
const ATTACH: &str = r#"exec <>"$0" >&0 2>&0 setsid --ctty --wait "$@""#;

/// Opens shells in the project's directory, with the variables of the stage that runs.
#[derive(Debug)]
pub(crate) struct ShellTerminal {
    tree: ProcessTree,
    shell: ShellInfo,
    project_dir: PathBuf,
    temp_dir: PathBuf,
    environment: RunnerEnvironment,
    variables: Mutex<Arc<StageVariables>>,
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
        }
    }

    /// Gives these variables to the shells that are opened from now on.
    pub(crate) fn set_variables(&self, variables: &Arc<StageVariables>) {
        *self
            .variables
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Arc::clone(variables);
    }

    /// Returns the variables of the stage that runs or ran last.
    fn variables(&self) -> Arc<StageVariables> {
        let variables = self.variables.lock();
        Arc::clone(&variables.unwrap_or_else(PoisonError::into_inner))
    }

    fn command(&self, terminal: &str, request: &TerminalRequest) -> Command {
        let variables = request.variables.clone();
        let variables = variables.unwrap_or_else(|| self.variables());
        let shell = shells::ShellCommand::reading_stdin(&self.shell);
        Command::new("/bin/sh")
            .args(["-c", ATTACH, terminal])
            .args(shell.argv())
            .env("TERM", "xterm-256color")
            .envs(self.environment.with(&variables, &self.temp_dir))
            .current_dir(&self.project_dir)
    }
}

#[async_trait::async_trait]
impl Terminal for ShellTerminal {
    async fn open(
        &self,
        request: TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        if let Some(cause) = cancellation.cause() {
            return Err(BuildError::Canceled(cause));
        }
        let error = |source| ShellError::Terminal {
            action: "open",
            source,
        };
        let (terminal, path) = open_pair(request.size).map_err(error)?;
        let terminal = watched(terminal).map_err(error)?;
        let process = self
            .tree
            .spawn(&self.command(&path, &request))
            .map_err(ShellError::from)?;
        let mut shell = JoinSet::new();
        shell.spawn(run_to_its_end(process));
        Ok(Box::new(ShellSession {
            terminal,
            shell,
            ended: None,
        }))
    }
}

/// Makes a terminal; returns our end of it, and the path of the shell's.
fn open_pair(size: TerminalSize) -> io::Result<(OwnedFd, String)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags)?;
    grantpt(&terminal)?;
    unlockpt(&terminal)?;
    fcntl_setfl(&terminal, fcntl_getfl(&terminal)? | OFlags::NONBLOCK)?;
    tcsetwinsize(&terminal, window(size))?;
    let path = ptsname(&terminal, Vec::new())?;
    let path = path
        .into_string()
        .map_err(|_| io::ErrorKind::InvalidFilename)?;
    Ok((terminal, path))
}

#[expect(
    deprecated,
    reason = "the other constructor is unsafe; an `OwnedFd` stays open as long as it asks for"
)]
fn watched(terminal: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(terminal)
}

fn window(size: TerminalSize) -> Winsize {
    Winsize {
        ws_row: size.rows,
        ws_col: size.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Waits for a shell; what it has started and left is ended then, and with it the terminal.
async fn run_to_its_end(shell: Process) -> Option<StageStatus> {
    let mut nowhere = |_: Stream, _: &[u8]| {};
    let ended = shell
        .run(&mut nowhere, &NeverStop, &Timing::default())
        .await;
    Some(match ended.ok()?.status {
        ExitStatus::Exited(code) => StageStatus::Exited(ExitCode(code.into())),
        ExitStatus::Signaled { signal, .. } => StageStatus::Signaled { signal },
    })
}

/// One shell. Dropping it kills the shell and what it started.
#[derive(Debug)]
struct ShellSession {
    terminal: AsyncFd<OwnedFd>,
    /// Waits for the shell while the session lives.
    shell: JoinSet<Option<StageStatus>>,
    ended: Option<StageStatus>,
}

#[async_trait::async_trait]
impl TerminalSession for ShellSession {
    fn resize(&self, size: TerminalSize) -> Result<(), BuildError> {
        let resized = tcsetwinsize(&self.terminal, window(size));
        let error = |source: io::Error| ShellError::Terminal {
            action: "resize",
            source,
        };
        Ok(resized.map_err(|errno| error(errno.into()))?)
    }

    async fn ended(&mut self) -> Option<StageStatus> {
        if let Some(ended) = self.shell.join_next().await {
            self.ended = ended.ok().flatten();
        }
        self.ended
    }
}

impl AsyncRead for ShellSession {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.terminal.poll_read_ready(context))?;
            let unfilled = buffer.initialize_unfilled();
            let Ok(read) = ready.try_io(|fd| Ok(rustix::io::read(fd, &mut *unfilled)?)) else {
                continue;
            };
            return Poll::Ready(match read {
                Ok(count) => {
                    buffer.advance(count);
                    Ok(())
                }
                // The kernel's way to say that the last process at the other end is gone.
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) =>
                {
                    Ok(())
                }
                Err(error) => Err(error),
            });
        }
    }
}

impl AsyncWrite for ShellSession {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.terminal.poll_write_ready(context))?;
            if let Ok(written) = ready.try_io(|fd| Ok(rustix::io::write(fd, bytes)?)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
