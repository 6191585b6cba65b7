use super::raw::RawMode;
use executor_core::ability::TerminalSize;
use rustix::fs::{Mode, OFlags, open};
use rustix::termios::{isatty, tcgetwinsize, ttyname};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The terminal that the program was started at, opened once more.
///
/// Standard input and output are shared with the parent process, which would be affected if they became
/// non-blocking.
#[derive(Debug)]
pub struct OwnTerminal {
    fd: AsyncFd<OwnedFd>,
}

impl OwnTerminal {
    /// Returns whether input and output are a terminal.
    pub fn is_there() -> bool {
        isatty(io::stdin()) && isatty(io::stdout())
    }

    /// Opens the terminal of standard input. It needs a runtime.
    ///
    /// # Errors
    ///
    /// When there is none, or it cannot be opened.
    pub fn open() -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // In a container the name of the terminal may not exist.
        let by_name =
            ttyname(io::stdin(), Vec::new()).and_then(|path| open(path, flags, Mode::empty()));
        let fd = match by_name {
            Ok(fd) => fd,
            Err(_) => open("/dev/tty", flags, Mode::empty())?,
        };
        Ok(Self { fd: watched(fd)? })
    }

    /// Returns its size, or 80 by 24 if it reports none.
    pub fn size(&self) -> TerminalSize {
        let size = tcgetwinsize(&self.fd).ok();
        let size = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        TerminalSize {
            columns: size.map_or(80, |size| size.ws_col),
            rows: size.map_or(24, |size| size.ws_row),
        }
    }

    /// Passes every key through unchanged until the guard is dropped.
    pub(crate) fn raw(&self) -> io::Result<RawMode<'_>> {
        RawMode::begin(self.fd.get_ref())
    }
}

#[expect(
    deprecated,
    reason = "the other constructor is unsafe; an `OwnedFd` stays open as long as it asks for"
)]
fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(fd)
}

impl AsyncRead for &OwnTerminal {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.fd.poll_read_ready(context))?;
            let unfilled = buffer.initialize_unfilled();
            if let Ok(read) = ready.try_io(|fd| Ok(rustix::io::read(fd, &mut *unfilled)?)) {
                return Poll::Ready(read.map(|count| buffer.advance(count)));
            }
        }
    }
}

impl AsyncWrite for &OwnTerminal {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.fd.poll_write_ready(context))?;
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
