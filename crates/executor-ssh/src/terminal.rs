//! Interactive shells on the job's host.

use crate::connection::{Channel, Event, Exit};
use crate::host::{ANSWER, Host};
use crate::link::Link;
use executor_core::ability::{Terminal, TerminalRequest, TerminalSession, TerminalSize};
use executor_core::{
    BuildDirs, BuildError, Cancellation, ExitCode, ShellInfo, StageStatus, StageVariables,
};
use parking_lot::Mutex;
use shells::{InteractiveShell, ShellCommand, quote_sh};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Opens shells in the project's directory, with the variables of the stage that runs.
#[derive(Debug)]
pub(crate) struct SshTerminal {
    link: Arc<Link>,
    shell: ShellInfo,
    dirs: BuildDirs,
    host: Host,
    variables: Mutex<Arc<StageVariables>>,
    opened: AtomicU64,
}

impl SshTerminal {
    pub(crate) fn new(link: Arc<Link>, shell: ShellInfo, dirs: BuildDirs, host: Host) -> Self {
        Self {
            link,
            shell,
            dirs,
            host,
            variables: Mutex::default(),
            opened: AtomicU64::new(1),
        }
    }

    /// Sets the variables of shells opened from now on.
    pub(crate) fn set_variables(&self, variables: &Arc<StageVariables>) {
        *self.variables.lock() = Arc::clone(variables);
    }

    /// Writes the files of a shell on the host; returns the command that starts it.
    async fn make(
        &self,
        request: &TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<String, BuildError> {
        let invalid = |error: shells::ScriptError| BuildError::config(error.to_string());
        let variables = request.variables.clone();
        let variables = variables.unwrap_or_else(|| Arc::clone(&self.variables.lock()));
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let directory = format!("{}/.shell-{number}", self.dirs.temp_dir);
        let mut interactive =
            InteractiveShell::new(&self.shell, &directory, &request.title, &request.history)
                .map_err(invalid)?;
        interactive.profile = request.profile;
        let script = interactive.setup_script(&variables, &self.dirs.temp_dir)?;
        let answer = self.link.run(&script, ANSWER, cancellation).await?;
        if answer.exit.code != 0 {
            let retry = executor_core::Retryability::Temporary;
            let error = self
                .link
                .host_error("write the files of the shell", &answer, retry);
            return Err(error.into());
        }
        let shell: ShellCommand = interactive.command();
        let mut words = vec![
            "env".to_owned(),
            format!("RUNWRIGHT_PROCESS_MARKER={}", self.host.id()),
        ];
        let environment = interactive.environment().into_iter();
        words.extend(environment.map(|(key, value)| format!("{key}={value}")));
        words.extend(shell.argv().iter().cloned());
        let mut command = self.host.register()?;
        command.push_str("cd ");
        command.push_str(&quote_sh(&self.dirs.project_dir).map_err(invalid)?);
        command.push_str(" && exec");
        for word in words {
            command.push(' ');
            command.push_str(&quote_sh(&word).map_err(invalid)?);
        }
        let command = quote_sh(&command).map_err(invalid)?;
        Ok(format!("exec sh -c {command}"))
    }
}

#[async_trait::async_trait]
impl Terminal for SshTerminal {
    async fn open(
        &self,
        request: TerminalRequest,
        cancellation: &Cancellation,
    ) -> Result<Box<dyn TerminalSession>, BuildError> {
        let command = self.make(&request, cancellation).await?;
        let opening = self
            .link
            .exec_in_terminal(&command, request.size, cancellation);
        Ok(Box::new(SshSession {
            channel: opening.await?,
            rest: Vec::new(),
            has_ended: false,
            exit: None,
        }))
    }
}

/// One shell. Dropping it closes its terminal, which ends the shell and its children.
#[derive(Debug)]
struct SshSession {
    channel: Channel,
    /// What was read and not yet taken.
    rest: Vec<u8>,
    has_ended: bool,
    /// How it ended, if the host told.
    exit: Option<Exit>,
}

impl SshSession {
    /// Waits for more output; returns whether there is some.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.has_ended {
            return Poll::Ready(false);
        }
        match ready!(self.channel.output.poll_next(cx)) {
            Some(Event::Stdout(bytes) | Event::Stderr(bytes)) => self.rest.extend(bytes),
            Some(Event::Ended(exit)) => {
                self.exit = Some(exit);
                self.has_ended = true;
            }
            None => self.has_ended = true,
        }
        Poll::Ready(!self.has_ended)
    }
}

#[async_trait::async_trait]
impl TerminalSession for SshSession {
    fn resize(&self, size: TerminalSize) -> Result<(), BuildError> {
        let sent = self.channel.input.try_resize(size);
        sent.map_err(|_| BuildError::config("the terminal's shell has ended"))
    }

    async fn ended(&mut self) -> Option<StageStatus> {
        while std::future::poll_fn(|cx| self.poll_more(cx)).await {}
        let exit = self.exit.as_ref()?;
        Some(StageStatus::Exited(ExitCode(exit.code)))
    }
}

impl AsyncRead for SshSession {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.rest.is_empty() {
            if !ready!(this.poll_more(cx)) {
                return Poll::Ready(Ok(()));
            }
        }
        let count = this.rest.len().min(buffer.remaining());
        buffer.put_slice(&this.rest[..count]);
        this.rest.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SshSession {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().channel).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().channel).poll_shutdown(cx)
    }
}
