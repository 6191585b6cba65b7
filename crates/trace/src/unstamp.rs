//! A reader of the timestamped log format.

use executor_core::{StreamKind, TraceStream};
use memchr::memchr;

use crate::stamp::HEADER;

/// The largest piece that is emitted.
const PIECE: usize = 64 * 1024;

/// Reads the lines of [`Stamper`](crate::Stamper)s and returns the bytes of each stream.
///
/// The stamper may have added the newline at the end of a line; only the next line of the same stream tells whether it
/// continues the line. So the last newline of each stream is held back until [`settle`](Self::settle) or
/// [`finish`](Self::finish).
///
/// Lines of the writer itself ([`TraceStream::SYSTEM`]) stand between those of others: each ends the line before it, and
/// is ended by the next line, since both may be shown in one position.
///
/// Lines without a stamp are passed on as standard output.
///
/// ```
/// use executor_core::TraceStream;
/// use trace::Unstamper;
///
/// let mut unstamper = Unstamper::new();
/// let mut text = Vec::new();
/// let mut emit = |stream, bytes: &[u8]| {
///     assert_eq!(stream, TraceStream::STDOUT);
///     text.extend_from_slice(bytes);
/// };
/// unstamper.feed(b"2026-11-20T17:02:03.000004Z 01O 10%\r\n2026-11-20T17:0", &mut emit);
/// unstamper.feed(b"2:04.000000Z 01O+20%\n", &mut emit);
/// unstamper.finish(&mut emit);
/// assert_eq!(text, b"10%\r20%\n");
/// ```
#[derive(Debug)]
pub struct Unstamper {
    position: Position,
    /// The start of a stamp that arrived in pieces.
    header: [u8; HEADER],
    header_len: usize,
    /// The stream of `piece`.
    stream: TraceStream,
    /// Text that is not emitted yet, to emit few large pieces.
    piece: Vec<u8>,
    /// Streams whose last line may continue.
    held: Vec<TraceStream>,
    /// Whether the last line had a stamp; a log has stamps on all lines or none.
    is_stamped: bool,
}

/// The next part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Header,
    Body,
    /// The rest of a line without a stamp.
    Unstamped,
}

impl Unstamper {
    /// Returns a reader at the start of a line.
    pub fn new() -> Self {
        Self {
            position: Position::Header,
            header: [0; HEADER],
            header_len: 0,
            stream: TraceStream::STDOUT,
            piece: Vec::with_capacity(PIECE),
            held: Vec::new(),
            is_stamped: false,
        }
    }

    /// Reads the next bytes, split anywhere, and emits text, some of which may be held back.
    pub fn feed(&mut self, mut bytes: &[u8], emit: &mut impl FnMut(TraceStream, &[u8])) {
        while !bytes.is_empty() {
            bytes = match self.position {
                Position::Header => self.take_header(bytes, emit),
                Position::Body => self.take_line(bytes, emit),
                Position::Unstamped => self.take_unstamped(bytes, emit),
            };
        }
    }

    /// Emits all text whose position is known.
    pub fn flush(&mut self, emit: &mut impl FnMut(TraceStream, &[u8])) {
        if !self.piece.is_empty() {
            emit(self.stream, &self.piece);
            self.piece.clear();
        }
    }

    /// Declares that all lines so far are complete, except those of the streams in `open`, and emits all text.
    ///
    /// If the bytes so far ended in a newline, a new reader could continue afterwards.
    pub fn settle(&mut self, open: &[TraceStream], emit: &mut impl FnMut(TraceStream, &[u8])) {
        // The text of the stream that wrote last is emitted with its newline in one piece.
        self.held.sort_by_key(|stream| *stream != self.stream);
        for stream in std::mem::take(&mut self.held) {
            if !open.contains(&stream) {
                self.push(stream, b"\n", emit);
            }
        }
        self.flush(emit);
    }

    /// Returns whether no text is held back.
    pub fn is_settled(&self) -> bool {
        self.position == Position::Header
            && self.header_len == 0
            && self.held.is_empty()
            && self.piece.is_empty()
    }

    /// Ends the log: no line continues.
    ///
    /// An incomplete stamp at the end, of a log that ran out of space, is dropped.
    pub fn finish(&mut self, emit: &mut impl FnMut(TraceStream, &[u8])) {
        if self.is_stamped {
            self.header_len = 0;
        }
        if self.header_len > 0 {
            self.give_up_header(emit);
        }
        self.position = Position::Header;
        self.settle(&[], emit);
    }

    /// Reads a stamp, or a part of it, and returns the next part.
    fn take_header<'a>(
        &mut self,
        bytes: &'a [u8],
        emit: &mut impl FnMut(TraceStream, &[u8]),
    ) -> &'a [u8] {
        if self.header_len == 0
            && let Some((header, rest)) = bytes.split_first_chunk::<HEADER>()
            && is_header(header)
        {
            self.begin_line(header, emit);
            return rest;
        }
        for (taken, byte) in bytes.iter().enumerate() {
            if !fits(self.header_len, *byte) {
                self.give_up_header(emit);
                return &bytes[taken..];
            }
            self.header[self.header_len] = *byte;
            self.header_len += 1;
            if self.header_len == HEADER {
                self.header_len = 0;
                let header = self.header;
                self.begin_line(&header, emit);
                return &bytes[taken + 1..];
            }
        }
        &[]
    }

    fn begin_line(&mut self, header: &[u8; HEADER], emit: &mut impl FnMut(TraceStream, &[u8])) {
        let stream = stream_of(header);
        self.position = Position::Body;
        self.is_stamped = true;
        self.part(stream, emit);
        self.switch(stream, emit);
        if let Some(index) = self.held.iter().position(|held| *held == stream) {
            self.held.swap_remove(index);
            if header[HEADER - 1] == b' ' {
                self.push(stream, b"\n", emit);
            }
        }
    }

    /// Ends the lines that must not be mixed with the next one, of this stream.
    fn part(&mut self, next: TraceStream, emit: &mut impl FnMut(TraceStream, &[u8])) {
        let system = TraceStream::SYSTEM;
        let is_ended = |held: &TraceStream| *held != next && (next == system || *held == system);
        for stream in self
            .held
            .extract_if(.., |held| is_ended(held))
            .collect::<Vec<_>>()
        {
            self.push(stream, b"\n", emit);
        }
    }

    fn take_line<'a>(
        &mut self,
        bytes: &'a [u8],
        emit: &mut impl FnMut(TraceStream, &[u8]),
    ) -> &'a [u8] {
        let Some(end) = memchr(b'\n', bytes) else {
            self.push(self.stream, bytes, emit);
            return &[];
        };
        self.push(self.stream, &bytes[..end], emit);
        self.held.push(self.stream);
        self.position = Position::Header;
        &bytes[end + 1..]
    }

    fn take_unstamped<'a>(
        &mut self,
        bytes: &'a [u8],
        emit: &mut impl FnMut(TraceStream, &[u8]),
    ) -> &'a [u8] {
        let (line, rest) = match memchr(b'\n', bytes) {
            Some(end) => bytes.split_at(end + 1),
            None => (bytes, &[][..]),
        };
        if line.ends_with(b"\n") {
            self.position = Position::Header;
        }
        self.push(TraceStream::STDOUT, line, emit);
        rest
    }

    /// Turns an apparent stamp into text.
    fn give_up_header(&mut self, emit: &mut impl FnMut(TraceStream, &[u8])) {
        let (header, length) = (self.header, self.header_len);
        self.header_len = 0;
        self.is_stamped = false;
        self.position = Position::Unstamped;
        let stdout = TraceStream::STDOUT;
        if let Some(index) = self.held.iter().position(|held| *held == stdout) {
            self.held.swap_remove(index);
            self.push(stdout, b"\n", emit);
        }
        self.push(stdout, &header[..length], emit);
    }

    fn switch(&mut self, stream: TraceStream, emit: &mut impl FnMut(TraceStream, &[u8])) {
        if self.stream != stream {
            self.flush(emit);
            self.stream = stream;
        }
    }

    fn push(
        &mut self,
        stream: TraceStream,
        mut bytes: &[u8],
        emit: &mut impl FnMut(TraceStream, &[u8]),
    ) {
        self.switch(stream, emit);
        while self.piece.len() + bytes.len() > PIECE {
            let (head, tail) = bytes.split_at(PIECE - self.piece.len());
            self.piece.extend_from_slice(head);
            self.flush(emit);
            bytes = tail;
        }
        self.piece.extend_from_slice(bytes);
    }
}

impl Default for Unstamper {
    fn default() -> Self {
        Self::new()
    }
}

/// The shape of a stamp: `0` stands for a digit, `x` for a hexadecimal one.
const SHAPE: &[u8; HEADER] = b"0000-00-00T00:00:00.000000Z xxO ";

fn fits(index: usize, byte: u8) -> bool {
    match SHAPE[index] {
        b'0' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        b'O' => byte == b'O' || byte == b'E',
        b' ' if index == HEADER - 1 => byte == b' ' || byte == b'+',
        other => byte == other,
    }
}

fn is_header(header: &[u8; HEADER]) -> bool {
    header
        .iter()
        .enumerate()
        .all(|(index, byte)| fits(index, *byte))
}

fn stream_of(header: &[u8; HEADER]) -> TraceStream {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => byte - b'0',
        _ => (byte | 0x20).wrapping_sub(b'a').wrapping_add(10),
    };
    TraceStream {
        source: digit(header[28]) << 4 | digit(header[29]) & 0x0f,
        kind: if header[30] == b'E' {
            StreamKind::Stderr
        } else {
            StreamKind::Stdout
        },
    }
}

#[cfg(test)]
mod tests;
