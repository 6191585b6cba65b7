//! The timestamped log format, read.

use executor_core::{StreamKind, TraceStream};
use memchr::memchr;

use crate::stamp::HEADER;

/// The largest piece that is handed out.
const PIECE: usize = 64 * 1024;

/// Takes the lines of [`Stamper`](crate::Stamper)s apart again: gives the bytes of each stream back.
///
/// The newline at the end of a line may have been put there by the stamper; that is known only when the
/// next line of the same stream says that it goes on, or that it does not. So the last newline of each stream is
/// held back until [`settle`](Self::settle) or [`finish`](Self::finish) tells.
///
/// Lines of the writer itself ([`TraceStream::SYSTEM`]) stand between those of others: each ends what was before it, and is
/// ended by what comes after it, since both may be shown in one place.
///
/// What has no stamp is passed on as it is, as standard output.
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
    place: Place,
    /// What there is of a stamp that came in pieces.
    header: [u8; HEADER],
    header_len: usize,
    /// Of whom `piece` is.
    stream: TraceStream,
    /// Text that is not handed out yet, to hand out few large pieces.
    piece: Vec<u8>,
    /// Streams whose last line may go on.
    held: Vec<TraceStream>,
    /// Whether the last line that was taken had a stamp, as each one has in a log that has any.
    is_stamped: bool,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Header,
    Body,
    /// The rest of a line that has no stamp.
    Unstamped,
}

impl Unstamper {
    /// Starts at the beginning of a line.
    pub fn new() -> Self {
        Self {
            place: Place::Header,
            header: [0; HEADER],
            header_len: 0,
            stream: TraceStream::STDOUT,
            piece: Vec::with_capacity(PIECE),
            held: Vec::new(),
            is_stamped: false,
        }
    }

    /// Takes the next bytes, cut anywhere, and hands out text, of which it may keep some back.
    pub fn feed(&mut self, mut bytes: &[u8], emit: &mut impl FnMut(TraceStream, &[u8])) {
        while !bytes.is_empty() {
            bytes = match self.place {
                Place::Header => self.take_header(bytes, emit),
                Place::Body => self.take_line(bytes, emit),
                Place::Unstamped => self.take_unstamped(bytes, emit),
            };
        }
    }

    /// Hands out all text whose place is known.
    pub fn flush(&mut self, emit: &mut impl FnMut(TraceStream, &[u8])) {
        if !self.piece.is_empty() {
            emit(self.stream, &self.piece);
            self.piece.clear();
        }
    }

    /// Takes note that all lines up to now are whole, but those of the streams in `open` go on, and hands out all
    /// text.
    ///
    /// After it, and if the bytes so far ended in a newline, a new one of these could go on in its place.
    pub fn settle(&mut self, open: &[TraceStream], emit: &mut impl FnMut(TraceStream, &[u8])) {
        // The text of the stream that wrote last goes out with its newline in one piece.
        self.held.sort_by_key(|stream| *stream != self.stream);
        for stream in std::mem::take(&mut self.held) {
            if !open.contains(&stream) {
                self.push(stream, b"\n", emit);
            }
        }
        self.flush(emit);
    }

    /// Returns whether nothing is kept back.
    pub fn is_settled(&self) -> bool {
        self.place == Place::Header
            && self.header_len == 0
            && self.held.is_empty()
            && self.piece.is_empty()
    }

    /// Ends the log: no line goes on any more.
    ///
    /// A piece of a stamp at the end, where there was no room for the rest, is dropped.
    pub fn finish(&mut self, emit: &mut impl FnMut(TraceStream, &[u8])) {
        if self.is_stamped {
            self.header_len = 0;
        }
        if self.header_len > 0 {
            self.give_up_header(emit);
        }
        self.place = Place::Header;
        self.settle(&[], emit);
    }

    /// Takes a stamp, or what there is of it, and returns what follows.
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
        self.place = Place::Body;
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

    /// Ends the lines that the next one, of this stream, is not to be mixed with.
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
        self.place = Place::Header;
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
            self.place = Place::Header;
        }
        self.push(TraceStream::STDOUT, line, emit);
        rest
    }

    /// What looked like a stamp is text.
    fn give_up_header(&mut self, emit: &mut impl FnMut(TraceStream, &[u8])) {
        let (header, length) = (self.header, self.header_len);
        self.header_len = 0;
        self.is_stamped = false;
        self.place = Place::Unstamped;
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
