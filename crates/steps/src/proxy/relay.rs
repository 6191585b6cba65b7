use super::error::ProxyError;
use super::way::Way;
use fail_point::fail_point;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Joins this program's standard input and output to a socket, until one of them is gone.
///
/// From then on what is printed by mistake goes to standard error: standard output has the service's bytes alone.
///
/// # Errors
///
/// As [`run`].
pub fn run_stdio(socket: &Path) -> Result<(), ProxyError> {
    let ends = || -> rustix::io::Result<_> {
        let input = rustix::io::dup(rustix::stdio::stdin())?;
        let output = rustix::io::dup(rustix::stdio::stdout())?;
        // So that closing `output` closes it: nobody else holds it open.
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok((input, output))
    };
    let (input, output) = ends().map_err(failed("use standard input and output"))?;
    run(socket, input, output)
}

/// Joins two ends to a socket: copies `input` to it and it to `output`.
///
/// The end of `input` is passed on, and what the other side still has to say is waited for; the end of the socket's
/// stream closes `output`, and what still comes from `input` is passed on. It returns when both have ended, when the
/// other side of the socket has closed it, or when nobody reads `output` any more.
///
/// It blocks the thread, and holds no more than a buffer in each direction.
///
/// # Errors
///
/// When nobody listens on the socket, or one of the ends breaks.
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
        inward: Way::new(),
        outward: Way::new(),
    };
    while relay.step()? {}
    Ok(())
}

/// What is joined.
struct Relay {
    service: UnixStream,
    input: Unblocked,
    /// Closed as soon as the service has said all.
    output: Option<Unblocked>,
    inward: Way,
    outward: Way,
}

/// What an end is ready for.
#[derive(Debug)]
struct Ready {
    input: PollFlags,
    service: PollFlags,
    output: PollFlags,
}

const GONE: PollFlags = PollFlags::HUP.union(PollFlags::ERR);

impl Relay {
    /// Waits until something can be done and does it; returns whether there may be more.
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
            // The other side may be gone already, which is seen when it is read from.
            let _ = self.service.shutdown(Shutdown::Write);
        }
        if self.outward.has_ended() {
            self.outward.close();
            self.output = None;
        }
    }

    /// Waits for what is wanted only: an end that is gone is ready for ever.
    fn wait(&self) -> rustix::io::Result<Ready> {
        let when = |wanted: bool, flag| if wanted { flag } else { PollFlags::empty() };
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
        let is_asked = !service.is_empty() || self.outward.is_closed();
        let service = is_asked.then(|| add(self.service.as_fd(), service));
        // Without a wish it still tells when nobody reads it any more.
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

/// An end that never lets the thread wait, until it is dropped.
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
        // Others may hold the same end, such as the shell of a terminal.
        let _ = fcntl_setfl(&self.fd, self.flags);
    }
}

fn failed(action: &'static str) -> impl FnOnce(Errno) -> ProxyError {
    move |error| ProxyError::Io {
        action,
        source: error.into(),
    }
}
