use super::handover::OwnTerminal;
use super::raw::RawMode;
use super::signals::{TerminalChange, TerminalSignals};
use executor_core::ability::TerminalSession;
use executor_core::{Cancellation, StageStatus};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Connects our terminal to a shell until it ends, and returns how it ended.
///
/// The terminal is restored when this returns or is dropped.
///
/// # Errors
///
/// When the terminal cannot be used.
///
/// # Cancellation
///
/// Stops soon and returns `None`, as when the terminal is gone; dropping the session ends the shell.
pub async fn attach(
    session: &mut dyn TerminalSession,
    terminal: &OwnTerminal,
    cancellation: &Cancellation,
) -> io::Result<Option<StageStatus>> {
    let mut signals = TerminalSignals::listen()?;
    let mut raw = terminal.raw()?;
    let mut relay = Relay::default();
    loop {
        tokio::select! {
            biased;
            _ = cancellation.canceled() => return Ok(None),
            change = signals.next() => {
                if change == TerminalChange::Resumed {
                    raw.set()?;
                }
                // A shell that has ended is noticed below.
                let _ = session.resize(terminal.size());
            }
            left = poll_fn(|context| relay.poll(context, session, terminal, &mut raw)) => match left? {
                Left::Shell => break,
                Left::Person => return Ok(None),
            }
        }
    }
    tokio::select! {
        status = session.ended() => Ok(status),
        _ = cancellation.canceled() => Ok(None),
    }
}

/// Who is gone.
enum Left {
    /// The shell has ended, and all it showed is shown.
    Shell,
    /// The terminal was closed: no input comes, and output has no reader.
    Person,
}

/// The bytes in flight between a terminal and a shell.
#[derive(Debug, Default)]
struct Relay {
    typed: Buffer,
    shown: Buffer,
}

impl Relay {
    /// Passes on what there is; ready when one of both is gone.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        session: &mut dyn TerminalSession,
        terminal: &OwnTerminal,
        raw: &mut RawMode<'_>,
    ) -> Poll<io::Result<Left>> {
        let typed = self
            .typed
            .poll_pass(context, &mut &*terminal, &mut *session, |_| {});
        // A shell that takes no more has ended, and still has something to show.
        if let Poll::Ready(Ok(())) = typed {
            return Poll::Ready(Ok(Left::Person));
        }
        let see = |bytes: &[u8]| raw.modes.see(bytes);
        let shown = self.shown.poll_pass(context, session, &mut &*terminal, see);
        shown.map_ok(|()| Left::Shell)
    }
}

/// Bytes that were read and are to be written. No more is read until they are.
#[derive(Debug)]
struct Buffer {
    bytes: Box<[u8]>,
    from: usize,
    to: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Self {
            bytes: vec![0; 16 << 10].into(),
            from: 0,
            to: 0,
        }
    }
}

impl Buffer {
    /// Reads and writes until one of them waits; ready at the end of what is read.
    fn poll_pass<R: AsyncRead + Unpin + ?Sized, W: AsyncWrite + Unpin + ?Sized>(
        &mut self,
        context: &mut Context<'_>,
        source: &mut R,
        sink: &mut W,
        mut see: impl FnMut(&[u8]),
    ) -> Poll<io::Result<()>> {
        loop {
            while self.from < self.to {
                let bytes = &self.bytes[self.from..self.to];
                let written = ready!(Pin::new(&mut *sink).poll_write(context, bytes))?;
                see(&bytes[..written]);
                self.from += written;
            }
            let mut read = ReadBuf::new(&mut self.bytes);
            ready!(Pin::new(&mut *source).poll_read(context, &mut read))?;
            (self.from, self.to) = (0, read.filled().len());
            if self.to == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
