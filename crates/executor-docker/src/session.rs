//! One interactive shell in a container.

use crate::container::execs::{Execs, Output};
use crate::engine::Engine;
use crate::error::DockerError;
use bollard::query_parameters::ResizeExecOptions;
use executor_core::ability::{TerminalSession, TerminalSize};
use executor_core::{BuildError, ExitCode, StageStatus};
use futures_util::StreamExt;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Mutex, mpsc};
use tokio::time::{Duration, sleep};
use tokio_util::bytes::Bytes;

/// How often is asked whether a shell has ended.
const ASK: Duration = Duration::from_millis(100);

/// What a session asks of its keeper.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Control {
    /// The terminal has another size.
    Resize(TerminalSize),
}

/// Does what a session asks for, until it is dropped.
pub(crate) async fn keep(engine: &Engine, exec: &str, mut told: mpsc::UnboundedReceiver<Control>) {
    while let Some(Control::Resize(size)) = told.recv().await {
        let options = ResizeExecOptions {
            h: size.rows.into(),
            w: size.columns.into(),
        };
        // A shell that has ended has no size.
        let _ = engine.api().resize_exec(exec, options).await;
    }
}

/// One shell. Dropping it ends the shell and what it started.
pub(crate) struct DockerSession {
    execs: Execs,
    exec: String,
    unread: Bytes,
    // Behind a lock, since a session is shared between threads and a stream of the API is not.
    output: Mutex<Output>,
    input: Mutex<Pin<Box<dyn AsyncWrite + Send>>>,
    tell: mpsc::UnboundedSender<Control>,
}

impl DockerSession {
    /// Joins the ends of a running exec; `first` was read already.
    pub(crate) fn new(
        execs: Execs,
        exec: String,
        first: Vec<u8>,
        output: Output,
        input: Pin<Box<dyn AsyncWrite + Send>>,
        tell: mpsc::UnboundedSender<Control>,
    ) -> Self {
        Self {
            execs,
            exec,
            unread: first.into(),
            output: Mutex::new(output),
            input: Mutex::new(input),
            tell,
        }
    }
}

#[async_trait::async_trait]
impl TerminalSession for DockerSession {
    fn resize(&self, size: TerminalSize) -> Result<(), BuildError> {
        let told = self.tell.send(Control::Resize(size));
        told.map_err(|_| BuildError::config("the terminal's shell has ended"))
    }

    async fn ended(&mut self) -> Option<StageStatus> {
        let api = self.execs.engine.api();
        loop {
            let found = api.inspect_exec(&self.exec).await.ok()?;
            if found.running == Some(false) {
                let code = i32::try_from(found.exit_code?).ok()?;
                return Some(StageStatus::Exited(ExitCode(code)));
            }
            sleep(ASK).await;
        }
    }
}

impl AsyncRead for DockerSession {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.unread.is_empty() {
            match ready!(self.output.get_mut().poll_next_unpin(context)) {
                Some(Ok(piece)) => self.unread = piece.into_bytes(),
                Some(Err(error)) => {
                    let error = DockerError::from_api("read from the terminal", error);
                    return Poll::Ready(Err(io::Error::other(error)));
                }
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = buffer.remaining().min(self.unread.len());
        buffer.put_slice(&self.unread.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for DockerSession {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.input.get_mut().as_mut().poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.input.get_mut().as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.input.get_mut().as_mut().poll_shutdown(context)
    }
}

impl fmt::Debug for DockerSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DockerSession")
            .field("exec", &self.exec)
            .finish_non_exhaustive()
    }
}
