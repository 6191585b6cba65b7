//! The proxy: joins a program's standard input and output to the service's socket.
//!
//! Any means to start a program with its input and output (`docker exec`, `ssh`, an exec in a pod) reaches the service
//! in this way, without an open port.

mod channel;
mod error;

pub use error::ProxyError;

use self::channel::Channel;
use fail_point::fail_point;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Joins this program's standard input and output to a socket, until one of them is closed.
///
/// Afterwards, output to standard output goes to standard error, so that it cannot mix with the bytes of the service.
///
/// # Errors
///
/// As [`run`].
pub fn run_stdio(socket: &Path) -> Result<(), ProxyError> {
    let ends = || -> rustix::io::Result<_> {
        let input = rustix::io::dup(rustix::stdio::stdin())?;
        let output = rustix::io::dup(rustix::stdio::stdout())?;
        // Only `output` keeps standard output open now, so that dropping it closes the stream.
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok((input, output))
    };
    let (input, output) = ends().map_err(failed("use standard input and output"))?;
    run(socket, input, output)
}

/// Joins `input` and `output` to a socket.
///
/// The end of `input` is passed on, and remaining bytes of the service are awaited. The end of the service's stream closes
/// `output`, and remaining bytes of `input` are passed on. Returns when both streams have ended, when the service has
/// closed the socket, or when `output` has no reader.
///
/// It blocks the thread, and holds at most a buffer in each direction.
///
/// # Errors
///
/// When the socket has no listener, or reading or writing fails.
pub fn run(socket: &Path, input: OwnedFd, output: OwnedFd) -> Result<(), ProxyError> {
    let connected = fail_point!("steps::proxy::connect", UnixStream::connect(socket));
    let service = connected.map_err(|source| ProxyError::NoService {
        socket: socket.to_owned(),
        source,
    })?;
    let prepare = || {
        service.set_nonblocking(true)?;
        Ok::<_, io::Error>((Unblocked::new(input)?, Unblocked::new(output)?))
    };
    let (input, output) = prepare().map_err(|source| ProxyError::Io {
        action: "use standard input and output",
        source,
    })?;
    let mut relay = Relay {
        service,
        input,
        output: Some(output),
        inward: Channel::new(),
        outward: Channel::new(),
    };
    while relay.step()? {}
    Ok(())
}

/// The joined streams.
struct Relay {
    service: UnixStream,
    input: Unblocked,
    /// Dropped at the end of the service's stream.
    output: Option<Unblocked>,
    inward: Channel,
    outward: Channel,
}

/// The events of each stream.
#[derive(Debug)]
struct Ready {
    input: PollFlags,
    service: PollFlags,
    output: PollFlags,
}

const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR);

impl Relay {
    /// Waits for an event and handles it; returns whether more may follow.
    fn step(&mut self) -> Result<bool, ProxyError> {
        let ready = self.wait().map_err(failed("wait for bytes"))?;
        if self.inward.wants_to_read() && !ready.input.is_empty() {
            let read = self.inward.read_from(&self.input.fd);
            read.map_err(failed("read standard input"))?;
        }
        if self.outward.wants_to_read() && ready.service.intersects(PollFlags::IN | GONE) {
            let read = self.outward.read_from(&self.service);
            read.map_err(failed("read from the service"))?;
        } else if self.outward.is_closed() && ready.service.intersects(GONE) {
            return Ok(false);
        }
        if self.outward.wants_to_write() {
            let Some(output) = &self.output else {
                return Ok(false);
            };
            let written = self.outward.write_to(&output.fd);
            if !written.map_err(failed("write to standard output"))? {
                return Ok(false);
            }
        } else if ready.output.intersects(GONE) {
            return Ok(false);
        }
        if self.inward.wants_to_write() {
            let written = self.inward.write_to(&self.service);
            if !written.map_err(failed("write to the service"))? {
                self.inward.close();
            }
        }
        self.pass_on_ends();
        Ok(!(self.inward.is_closed() && self.outward.is_closed()))
    }

    fn pass_on_ends(&mut self) {
        if self.inward.has_ended() {
            self.inward.close();
            // If the service is gone already, the next read reports that.
            let _ = self.service.shutdown(Shutdown::Write);
        }
        if self.outward.has_ended() {
            self.outward.close();
            self.output = None;
        }
    }

    /// Waits only for the needed events: a closed stream is always ready.
    fn wait(&self) -> rustix::io::Result<Ready> {
        let when = |needed: bool, flag| if needed { flag } else { PollFlags::empty() };
        let input = when(self.inward.wants_to_read(), PollFlags::IN);
        let service = when(self.outward.wants_to_read(), PollFlags::IN)
            | when(self.inward.wants_to_write(), PollFlags::OUT);
        let output = when(self.outward.wants_to_write(), PollFlags::OUT);

        let mut ends = Vec::with_capacity(3);
        let mut add = |end, flags| {
            ends.push(PollFd::from_borrowed_fd(end, flags));
            ends.len() - 1
        };
        let input = (!input.is_empty()).then(|| add(self.input.fd.as_fd(), input));
        let is_polled = !service.is_empty() || self.outward.is_closed();
        let service = is_polled.then(|| add(self.service.as_fd(), service));
        // Without requested events it still reports a closed reader.
        let output = self.output.as_ref().map(|fd| add(fd.fd.as_fd(), output));
        while let Err(error) = poll(&mut ends, None) {
            if error != Errno::INTR {
                return Err(error);
            }
        }
        let flags = |end: Option<usize>| end.map_or(PollFlags::empty(), |end| ends[end].revents());
        Ok(Ready {
            input: flags(input),
            service: flags(service),
            output: flags(output),
        })
    }
}

/// A descriptor in non-blocking mode until it is dropped.
#[derive(Debug)]
struct Unblocked {
    fd: OwnedFd,
    flags: OFlags,
}

impl Unblocked {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let flags = fcntl_getfl(&fd)?;
        fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
        Ok(Self { fd, flags })
    }
}

impl Drop for Unblocked {
    fn drop(&mut self) {
        // Other processes may share the file description, such as the shell of a terminal.
        let _ = fcntl_setfl(&self.fd, self.flags);
    }
}

fn failed(action: &'static str) -> impl FnOnce(Errno) -> ProxyError {
    move |error| ProxyError::Io {
        action,
        source: error.into(),
    }
}
