//! Moves bytes between a process and its owner until the pipes close.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::{Instant, Sleep, sleep};

use crate::sink::{OutputSink, Stream};

const BUFFER_SIZE: usize = 64 * 1024;

/// The number of full buffers read from one stream before the others are served.
const READS_PER_TURN: usize = 16;

/// The three pipes of one process and one buffer for both output streams.
pub(crate) struct Pump<'a, S: ?Sized> {
    stdin: Option<Sender>,
    input: Vec<u8>,
    written: usize,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    buffer: Box<[u8]>,
    sink: &'a mut S,
    bytes: [u64; 2],
    idle: Idle,
}

/// Detects silence after output, without setting a timer for every read.
struct Idle {
    after: Duration,
    last_output: Instant,
    due: bool,
    timer: Pin<Box<Sleep>>,
}

/// The next action.
enum Event {
    Write,
    Read(Stream),
    Timer,
}

impl<'a, S: OutputSink + ?Sized> Pump<'a, S> {
    pub(crate) fn new(
        stdin: Option<Sender>,
        input: Vec<u8>,
        stdout: Option<Receiver>,
        stderr: Option<Receiver>,
        sink: &'a mut S,
        idle_after: Duration,
    ) -> Self {
        let idle = Idle {
            after: idle_after,
            last_output: Instant::now(),
            due: false,
            timer: Box::pin(sleep(idle_after)),
        };
        let buffer = vec![0; BUFFER_SIZE].into_boxed_slice();
        Self {
            stdin,
            input,
            written: 0,
            stdout,
            stderr,
            buffer,
            sink,
            bytes: [0; 2],
            idle,
        }
    }

    /// Returns whether any pipe is still open.
    pub(crate) fn is_open(&self) -> bool {
        self.stdin.is_some() || self.has_output()
    }

    /// Returns whether there may be more output.
    pub(crate) fn has_output(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    pub(crate) fn bytes(&self) -> [u64; 2] {
        self.bytes
    }

    /// Waits for one pipe and serves it. The future may be dropped.
    pub(crate) async fn turn(&mut self) -> io::Result<()> {
        // A shell writes each command to standard output before the command can fail on standard error.
        let event = tokio::select! {
            biased;
            ready = readable(self.stdout.as_ref()) => ready.map(|()| Event::Read(Stream::Stdout)),
            ready = readable(self.stderr.as_ref()) => ready.map(|()| Event::Read(Stream::Stderr)),
            ready = writable(self.stdin.as_ref()) => ready.map(|()| Event::Write),
            () = &mut self.idle.timer, if self.idle.due => Ok(Event::Timer),
        };
        match event? {
            Event::Write => self.write(),
            Event::Read(stream) => {
                let limit = READS_PER_TURN * BUFFER_SIZE;
                let mut read = |stream| self.read(stream, limit, Receiver::try_read);
                let count = read(stream)?;
                // Standard output that never pauses must not hold up the other stream.
                if stream == Stream::Stdout && count >= limit {
                    read(Stream::Stderr)?;
                }
                Ok(())
            }
            Event::Timer => {
                self.silent();
                Ok(())
            }
        }
    }

    /// Reads the current content of the pipes, without waiting.
    ///
    /// One pipe's capacity is enough: more was written after the call. It reads from the kernel directly,
    /// because the runtime may not know yet that the pipe is readable.
    pub(crate) fn drain(&mut self) {
        for stream in [Stream::Stdout, Stream::Stderr] {
            let capacity = self.receiver(stream).map(capacity);
            if let Some(capacity) = capacity
                && let Err(error) = self.read(stream, capacity, |pipe, buffer| {
                    Ok(rustix::io::read(pipe, buffer)?)
                })
            {
                tracing::warn!(%error, ?stream, "The rest of the output could not be read.");
            }
        }
    }

    /// Reads until the pipe is empty or at least `limit` bytes were read; returns how many were.
    fn read(
        &mut self,
        stream: Stream,
        limit: usize,
        read: impl Fn(&Receiver, &mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let pipe = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let mut total = 0;
        while total < limit {
            let Some(receiver) = pipe else { break };
            match read(receiver, &mut self.buffer) {
                Ok(0) => {
                    *pipe = None;
                    self.sink.closed(stream);
                }
                Ok(count) => {
                    total += count;
                    self.sink.write(stream, &self.buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if total > 0 {
            self.bytes[stream as usize] += total as u64;
            self.idle.noise();
        }
        Ok(total)
    }

    fn write(&mut self) -> io::Result<()> {
        let Some(stdin) = &self.stdin else {
            return Ok(());
        };
        match stdin.try_write(&self.input[self.written..]) {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            // A process may leave input unread.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.written = self.input.len();
            }
            Err(error) => return Err(error),
        }
        if self.written == self.input.len() {
            self.stdin = None;
            self.input = Vec::new();
        }
        Ok(())
    }

    fn silent(&mut self) {
        let silence_ends = self.idle.last_output + self.idle.after;
        if Instant::now() < silence_ends {
            self.idle.timer.as_mut().reset(silence_ends);
        } else {
            self.idle.due = false;
            self.sink.idle();
        }
    }

    fn receiver(&self, stream: Stream) -> Option<&Receiver> {
        match stream {
            Stream::Stdout => self.stdout.as_ref(),
            Stream::Stderr => self.stderr.as_ref(),
        }
    }
}

impl Idle {
    fn noise(&mut self) {
        self.last_output = Instant::now();
        if !self.due {
            self.due = true;
            self.timer.as_mut().reset(self.last_output + self.after);
        }
    }
}

async fn readable(pipe: Option<&Receiver>) -> io::Result<()> {
    match pipe {
        Some(pipe) => pipe.readable().await,
        None => pending().await,
    }
}

async fn writable(pipe: Option<&Sender>) -> io::Result<()> {
    match pipe {
        Some(pipe) => pipe.writable().await,
        None => pending().await,
    }
}

fn capacity(pipe: &Receiver) -> usize {
    rustix::pipe::fcntl_getpipe_size(pipe).unwrap_or(BUFFER_SIZE)
}
