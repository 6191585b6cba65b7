use hyper_util::client::legacy::connect::{Connected, Connection as Connects};
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A byte stream in both directions.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// One connection to the engine, over any transport.
pub(crate) struct Connection(Box<dyn Stream>);

impl Connection {
    /// Wraps a stream for `hyper`.
    pub(crate) fn new(stream: impl Stream + 'static) -> TokioIo<Self> {
        Self::boxed(Box::new(stream))
    }

    /// As [`new`](Self::new), for a boxed stream.
    pub(crate) fn boxed(stream: Box<dyn Stream>) -> TokioIo<Self> {
        TokioIo::new(Self(stream))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl Connects for Connection {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
