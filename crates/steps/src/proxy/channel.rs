use rustix::fd::AsFd;
use rustix::io::{Errno, read, write};

/// The size of the buffer.
const BUFFER: usize = 64 * 1024;

/// The bytes from one stream to another.
#[derive(Debug)]
pub(super) struct Channel {
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// The input has ended; buffered bytes remain to be written.
    Ending,
    Closed,
}

impl Channel {
    pub(super) fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER].into_boxed_slice(),
            begin: 0,
            end: 0,
            state: State::Open,
        }
    }

    pub(super) fn wants_to_read(&self) -> bool {
        self.state == State::Open && self.begin == self.end
    }

    pub(super) fn wants_to_write(&self) -> bool {
        self.state != State::Closed && self.begin < self.end
    }

    /// Returns whether everything was written and the input has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ending && self.begin == self.end
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Drops buffered and future bytes.
    pub(super) fn close(&mut self) {
        self.state = State::Closed;
    }

    /// Reads the available bytes.
    pub(super) fn read_from(&mut self, source: impl AsFd) -> rustix::io::Result<()> {
        match read(source, &mut *self.buffer) {
            // These errors mean that the other end of a terminal or socket is closed.
            Ok(0) | Err(Errno::IO | Errno::CONNRESET) => self.state = State::Ending,
            Ok(count) => (self.begin, self.end) = (0, count),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes as many bytes as possible; returns false if there is no reader.
    pub(super) fn write_to(&mut self, target: impl AsFd) -> rustix::io::Result<bool> {
        match write(target, &self.buffer[self.begin..self.end]) {
            Ok(count) => self.begin += count,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET) => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}
