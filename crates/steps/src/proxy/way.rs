use rustix::fd::AsFd;
use rustix::io::{Errno, read, write};

/// How much is on the way at a time.
const BUFFER: usize = 64 * 1024;

/// Bytes on their way from one end to another.
#[derive(Debug)]
pub(super) struct Way {
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing more comes; what is held is still to be written.
    Ending,
    Closed,
}

impl Way {
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

    /// Returns whether all has been written and nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        self.state == State::Ending && self.begin == self.end
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Gives up what is held and whatever may come.
    pub(super) fn close(&mut self) {
        self.state = State::Closed;
    }

    /// Reads what there is.
    pub(super) fn read_from(&mut self, source: impl AsFd) -> rustix::io::Result<()> {
        match read(source, &mut *self.buffer) {
            // The last is what a terminal says, or a socket, whose other end is gone.
            Ok(0) | Err(Errno::IO | Errno::CONNRESET) => self.state = State::Ending,
            Ok(count) => (self.begin, self.end) = (0, count),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Writes what can be written, and returns whether anybody is there to take it.
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
