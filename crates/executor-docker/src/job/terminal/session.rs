//! One interactive shell in a container.

use crate::engine::Engine;
use crate::job::container::exec_stream::ExecStream;
use crate::job::container::execs::Execs;
use bollard::query_parameters::ResizeExecOptions;
use executor_core::ability::{TerminalSession, TerminalSize};
use executor_core::{BuildError, ExitCode, StageStatus};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::{Duration, sleep};

/// How often the engine is asked whether a shell has ended.
const ASK: Duration = Duration::from_millis(100);

/// Resizes a shell's terminal until the session is dropped.
pub(crate) async fn resize_until_dropped(
    engine: &Engine,
    exec: &str,
    mut sizes: mpsc::UnboundedReceiver<TerminalSize>,
) {
    while let Some(size) = sizes.recv().await {
        let options = ResizeExecOptions {
            h: size.rows.into(),
            w: size.columns.into(),
        };
        // The shell may have ended.
        let _ = engine.api().resize_exec(exec, options).await;
    }
}

/// One shell. Dropping the session ends the shell and its children.
#[derive(Debug)]
pub(crate) struct DockerSession {
    execs: Execs,
    exec: String,
    stream: ExecStream,
    sizes: mpsc::UnboundedSender<TerminalSize>,
}

impl DockerSession {
    /// Joins the ends of a running exec.
    pub(crate) fn new(
        execs: Execs,
        exec: String,
        stream: ExecStream,
        sizes: mpsc::UnboundedSender<TerminalSize>,
    ) -> Self {
        Self {
            execs,
            exec,
            stream,
            sizes,
        }
    }
}

#[async_trait::async_trait]
impl TerminalSession for DockerSession {
    fn resize(&self, size: TerminalSize) -> Result<(), BuildError> {
        let sent = self.sizes.send(size);
        sent.map_err(|_| BuildError::config("the terminal's shell has ended"))
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
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for DockerSession {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
