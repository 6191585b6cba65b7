use super::error_output::ErrorOutput;
use executor_core::{CancelCause, Cancellation};
use process::{Process, Stream, Timing};
use std::io::{self, Write};
use std::os::unix::net::UnixStream as Blocking;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Sender;

/// The input and output of an ssh, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct SshStream {
    output: UnixStream,
    /// None after the end of input.
    input: Option<Sender>,
    stop: Cancellation,
}

impl SshStream {
    /// Passes on what an ssh says; `complaint` gets what it complains of.
    pub(super) fn of(mut process: Process, error_output: &ErrorOutput) -> io::Result<Self> {
        let input = process.take_stdin();
        let (ours, theirs) = Blocking::pair()?;
        ours.set_nonblocking(true)?;
        let output = UnixStream::from_std(ours)?;
        let stop = Cancellation::new();
        let (stopped, error_output) = (stop.clone(), error_output.clone());
        let pump = move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
            else {
                return;
            };
            let mut sink = |stream: Stream, bytes: &[u8]| match stream {
                // Without a reader, ssh is about to be stopped.
                Stream::Stdout => drop((&theirs).write_all(bytes)),
                Stream::Stderr => error_output.keep(bytes),
            };
            // The end of the stream shows the end of ssh.
            let _ = runtime.block_on(process.run(&mut sink, &stopped, &Timing::default()));
        };
        // A thread, because a slow reader blocks the pump. It ends with ssh, which ends when the stream is dropped.
        std::thread::Builder::new()
            .name("docker-ssh".to_owned())
            .spawn(pump)?;
        Ok(Self {
            output,
            input,
            stop,
        })
    }
}

impl AsyncRead for SshStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.output).poll_read(context, buffer)
    }
}

impl AsyncWrite for SshStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.input {
            Some(input) => Pin::new(input).poll_write(context, bytes),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.input {
            Some(input) => Pin::new(input).poll_flush(context),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The other side sees the end of its input and can still answer.
        self.input = None;
        Poll::Ready(Ok(()))
    }
}

impl Drop for SshStream {
    fn drop(&mut self) {
        self.stop.abort(CancelCause::Source);
    }
}
