//! The user's ends of a channel.

use super::{Connection, QUEUE, Wake};
use executor_core::ability::TerminalSize;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_util::sync::PollSender;

/// A command on the host, or a connection from there. The command ends, or gets SIGPIPE, when both ends are dropped.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) input: ChannelInput,
    pub(crate) output: ChannelOutput,
    /// What an earlier read left over.
    rest: Vec<u8>,
    rest_from: usize,
}

/// The terminal of a command.
#[derive(Debug, Clone)]
pub(super) struct Pty {
    pub(super) term: String,
    pub(super) size: TerminalSize,
}

/// What goes to the host.
#[derive(Debug)]
pub(super) enum Input {
    Bytes(Vec<u8>),
    Resize(TerminalSize),
}

/// What comes from the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// The command has ended, and nothing else follows.
    Ended(Exit),
}

/// How a command ended. A host that does not tell is as one that tells 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) code: i32,
    pub(crate) signal: Option<String>,
}

/// The standard input of a command; dropping it ends the input.
#[derive(Debug)]
pub(crate) struct ChannelInput {
    sender: PollSender<Input>,
    wake: Wake,
}

/// The output of a command.
#[derive(Debug)]
pub(crate) struct ChannelOutput {
    receiver: mpsc::Receiver<Event>,
    /// What is dropped of standard output.
    dropped: Option<Prefix>,
    stalled: Arc<AtomicBool>,
    wake: Wake,
    /// The connection stays open as long as the channel is used.
    _connection: Connection,
}

/// The thread's end of the output.
#[derive(Debug)]
pub(super) struct Outlet {
    sender: mpsc::Sender<Event>,
    /// Whether the thread waits for the reader.
    stalled: Arc<AtomicBool>,
}

/// Returns a channel and the thread's ends of it.
pub(super) fn new(connection: Connection, wake: &Wake) -> (Channel, mpsc::Receiver<Input>, Outlet) {
    let (sender, input) = mpsc::channel(QUEUE);
    let (events, receiver) = mpsc::channel(QUEUE);
    let stalled = Arc::new(AtomicBool::new(false));
    let outlet = Outlet {
        sender: events,
        stalled: Arc::clone(&stalled),
    };
    let channel = Channel {
        input: ChannelInput {
            sender: PollSender::new(sender),
            wake: wake.clone(),
        },
        output: ChannelOutput {
            receiver,
            dropped: None,
            stalled,
            wake: wake.clone(),
            _connection: connection,
        },
        rest: Vec::new(),
        rest_from: 0,
    };
    (channel, input, outlet)
}

impl Outlet {
    /// Passes an event on; returns it when the queue is full, so that it is tried again after the reader wakes the thread.
    pub(super) fn send(&self, event: Event) -> Result<(), Event> {
        let refused = match self.sender.try_send(event) {
            Err(mpsc::error::TrySendError::Full(event)) => event,
            // The reader is gone.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => return Ok(()),
        };
        self.stalled.store(true, Ordering::SeqCst);
        // The reader may have emptied the queue before it could see the flag.
        match self.sender.try_send(refused) {
            Err(mpsc::error::TrySendError::Full(event)) => Err(event),
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl ChannelInput {
    /// Sends bytes, at the pace of the host.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` when the command does not read any more, or the connection broke.
    pub(crate) async fn write(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        std::future::poll_fn(|cx| self.poll_reserve(cx)).await?;
        self.send(Input::Bytes(bytes))
    }

    /// Reports the size of the terminal, unless much input is waiting.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub(crate) fn try_resize(&self, size: TerminalSize) -> io::Result<()> {
        let sender = self.sender.get_ref().ok_or_else(gone)?;
        let sent = sender.try_send(Input::Resize(size));
        self.wake.wake();
        match sent {
            Err(mpsc::error::TrySendError::Closed(_)) => Err(gone()),
            _ => Ok(()),
        }
    }

    fn poll_reserve(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.sender.poll_reserve(cx).map_err(|_| gone())
    }

    fn send(&mut self, input: Input) -> io::Result<()> {
        let sent = self.sender.send_item(input).map_err(|_| gone());
        self.wake.wake();
        sent
    }

    fn close(&mut self) {
        self.sender.close();
        self.wake.wake();
    }
}

impl Drop for ChannelInput {
    fn drop(&mut self) {
        self.close();
    }
}

impl Drop for ChannelOutput {
    fn drop(&mut self) {
        self.receiver.close();
        self.wake.wake();
    }
}

impl ChannelOutput {
    /// Returns the next event; `None` after [`Event::Ended`], or when the connection broke.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            let event = ready!(self.receiver.poll_recv(cx));
            if self.stalled.swap(false, Ordering::SeqCst) {
                self.wake.wake();
            }
            let (Some(prefix), Some(Event::Stdout(bytes))) = (&mut self.dropped, &event) else {
                return Poll::Ready(event);
            };
            if let Some(rest) = prefix.rest(bytes) {
                self.dropped = None;
                if !rest.is_empty() {
                    return Poll::Ready(Some(Event::Stdout(rest)));
                }
            }
        }
    }

    /// Drops standard output up to the end of this mark: what the start files of the user's shell print, as `~/.bashrc`.
    pub(crate) fn drop_until(&mut self, mark: &str) {
        self.dropped = Some(Prefix {
            mark: mark.as_bytes().to_owned(),
            end: Vec::new(),
        });
    }
}

/// Output before a mark.
#[derive(Debug)]
struct Prefix {
    mark: Vec<u8>,
    /// The end of the output so far, shorter than the mark.
    end: Vec<u8>,
}

impl Prefix {
    /// Takes more output; returns what follows the mark once that has come.
    fn rest(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.end.extend_from_slice(bytes);
        let length = self.mark.len();
        let at = self.end.windows(length).position(|it| it == self.mark);
        if let Some(at) = at {
            return Some(self.end.split_off(at + length));
        }
        let surplus = self.end.len().saturating_sub(length - 1);
        self.end.drain(..surplus);
        None
    }
}

/// Reads standard output; standard error is dropped. The end of the command is the end of the stream, and a broken
/// connection an error.
impl AsyncRead for Channel {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.rest_from == this.rest.len() {
            match ready!(this.output.poll_next(cx)) {
                Some(Event::Stdout(bytes)) => {
                    this.rest = bytes;
                    this.rest_from = 0;
                }
                Some(Event::Stderr(bytes)) => {
                    let text = String::from_utf8_lossy(&bytes);
                    tracing::debug!(text = &*text, "Standard error of a channel.");
                }
                Some(Event::Ended(_)) => return Poll::Ready(Ok(())),
                None => return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            }
        }
        let left = &this.rest[this.rest_from..];
        let count = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..count]);
        this.rest_from += count;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Channel {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.input.poll_reserve(cx))?;
        let count = bytes.len().min(super::worker::PIECE);
        this.input.send(Input::Bytes(bytes[..count].to_vec()))?;
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().input.close();
        Poll::Ready(Ok(()))
    }
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_ends_with_the_mark_however_it_is_split() {
        let text = b"hello= start = start 7\nrest";
        for split in 0..text.len() {
            let (end, mark) = (Vec::new(), b"= start 7\n".to_vec());
            let mut prefix = Prefix { mark, end };
            let [first, second] = [&text[..split], &text[split..]];
            let rest = match prefix.rest(first) {
                Some(rest) => [&*rest, second].concat(),
                None => prefix.rest(second).unwrap(),
            };
            assert_eq!(rest, b"rest", "{split}");
        }
    }
}
