//! One interactive shell and its terminal.

use crate::error::ShellError;
use crate::session_files::SessionFiles;
use executor_core::ability::{TerminalSession, TerminalSize};
use executor_core::{BuildError, ExitCode, StageStatus};
use process::{ExitStatus, NeverStop, Process, Stream, Timing};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinSet;

/// Opens a terminal; returns the runner's end, and the path of the shell's end.
pub(crate) fn open_pair(size: TerminalSize) -> io::Result<(OwnedFd, String)> {
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
pub(crate) fn watched(terminal: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
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

/// Waits for a shell, and ends its remaining descendants, and so the terminal.
async fn wait_for_end(shell: Process) -> Option<StageStatus> {
    let mut nowhere = |_: Stream, _: &[u8]| {};
    let ended = shell
        .run(&mut nowhere, &NeverStop, &Timing::default())
        .await;
    Some(match ended.ok()?.status {
        ExitStatus::Exited(code) => StageStatus::Exited(ExitCode(code.into())),
        ExitStatus::Signaled { signal, .. } => StageStatus::Signaled { signal },
    })
}

/// An interactive shell. Dropping it kills the shell and its descendants.
#[derive(Debug)]
pub(crate) struct ShellSession {
    terminal: AsyncFd<OwnedFd>,
    /// Waits for the shell while the session lives.
    shell: JoinSet<Option<StageStatus>>,
    ended: Option<StageStatus>,
    /// Removed with the session.
    _files: Option<SessionFiles>,
}

impl ShellSession {
    /// Returns the session of a shell at the other end of `terminal`.
    pub(crate) fn new(
        terminal: AsyncFd<OwnedFd>,
        process: Process,
        files: Option<SessionFiles>,
    ) -> Self {
        let mut shell = JoinSet::new();
        shell.spawn(wait_for_end(process));
        Self {
            terminal,
            shell,
            ended: None,
            _files: files,
        }
    }
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
                // The kernel reports the end of the last process at the other end by this error.
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
