//! A process in a container as a stream of bytes in both directions.

use crate::error::DockerError;
use crate::job::container::execs::{Output, Running};
use bollard::container::LogOutput;
use futures_util::StreamExt;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Mutex;
use tokio_util::bytes::Bytes;

/// How much standard error is kept.
const KEPT: usize = 4096;

/// Reads the standard output of a process and writes to its standard input.
///
/// When the process wrote only to standard error, that text is the error.
pub(crate) struct ExecStream {
    unread: Bytes,
    stderr: Vec<u8>,
    has_output: bool,
    // Behind a lock, because a connection must be `Sync` and a stream of the API is not.
    output: Mutex<Output>,
    input: Mutex<Pin<Box<dyn AsyncWrite + Send>>>,
}

impl ExecStream {
    /// Joins the ends of a process; `first` is output that was read already.
    pub(crate) fn new(running: Running, first: Vec<u8>) -> Self {
        Self {
            unread: first.into(),
            stderr: Vec::new(),
            has_output: false,
            output: Mutex::new(running.output),
            input: Mutex::new(running.input),
        }
    }
}

impl AsyncRead for ExecStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.unread.is_empty() {
            match ready!(self.output.get_mut().poll_next_unpin(context)) {
                Some(Ok(LogOutput::StdErr { message })) => {
                    let room = KEPT.saturating_sub(self.stderr.len()).min(message.len());
                    self.stderr.extend_from_slice(&message[..room]);
                }
                Some(Ok(piece)) => self.unread = piece.into_bytes(),
                Some(Err(error)) => {
                    let error = DockerError::from_api("read from a process", error);
                    return Poll::Ready(Err(io::Error::other(error)));
                }
                None if !self.has_output && !self.stderr.is_empty() => {
                    let text = String::from_utf8_lossy(&self.stderr).trim().to_owned();
                    self.stderr.clear();
                    return Poll::Ready(Err(io::Error::new(
                        io::ErrorKind::ConnectionRefused,
                        text,
                    )));
                }
                None => return Poll::Ready(Ok(())),
            }
        }
        self.has_output = true;
        let count = buffer.remaining().min(self.unread.len());
        buffer.put_slice(&self.unread.split_to(count));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ExecStream {
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

impl fmt::Debug for ExecStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecStream").finish_non_exhaustive()
    }
}
