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
    pub fn finish(&mut self, emit: &mut impl FnMut(TraceStream, &[u8])) {
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
        self.switch(stream, emit);
        if let Some(index) = self.held.iter().position(|held| *held == stream) {
            self.held.swap_remove(index);
            if header[HEADER - 1] == b' ' {
                self.push(stream, b"\n", emit);
            }
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
mod tests {
    use super::*;
    use crate::Stamper;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::time::{Duration, SystemTime};

    type Texts = BTreeMap<TraceStream, Vec<u8>>;

    fn decode(pieces: &[&[u8]], open: &[TraceStream]) -> Texts {
        let mut texts = Texts::new();
        let mut emit = |stream, bytes: &[u8]| {
            assert!(!bytes.is_empty() && bytes.len() <= PIECE);
            texts.entry(stream).or_default().extend_from_slice(bytes);
        };
        let mut unstamper = Unstamper::new();
        for piece in pieces {
            unstamper.feed(piece, &mut emit);
        }
        unstamper.settle(open, &mut emit);
        unstamper.finish(&mut emit);
        assert!(unstamper.is_settled());
        texts
    }

    #[test]
    fn what_has_no_stamp_is_passed_on() {
        let check = |text: &[u8], expect: &[u8]| {
            let texts = decode(&[text], &[]);
            let empty = Vec::new();
            let got = texts.get(&TraceStream::STDOUT).unwrap_or(&empty);
            assert_eq!(
                String::from_utf8_lossy(got),
                String::from_utf8_lossy(expect)
            );
            let bytes: Vec<_> = text.chunks(1).collect();
            assert_eq!(decode(&bytes, &[]), texts);
        };
        check(b"", b"");
        check(b"\n\n", b"\n\n");
        check(b"2026-1", b"2026-1");
        check(b"2026-11-20\nx", b"2026-11-20\nx");
        check(
            b"2026-11-20T17:02:03.000004Z 01X a\n",
            b"2026-11-20T17:02:03.000004Z 01X a\n",
        );
        check(b"2026-11-20T17:02:03.000004Z 01O a\nraw\n", b"a\nraw\n");
        check(b"2026-11-20T17:02:03.000004Z 01O a", b"a");
    }

    #[test]
    fn an_open_line_gets_no_newline() {
        let text = b"2026-11-20T17:02:03.000004Z 01O Password: \n";
        let open = decode(&[text], &[TraceStream::STDOUT]);
        assert_eq!(open[&TraceStream::STDOUT], b"Password: ");
        assert_eq!(decode(&[text], &[])[&TraceStream::STDOUT], b"Password: \n");
    }

    #[test]
    fn a_line_and_its_newline_come_in_one_piece_once_it_is_settled() {
        let mut pieces = Vec::new();
        let mut emit = |_, bytes: &[u8]| pieces.push(bytes.to_vec());
        let mut unstamper = Unstamper::new();
        unstamper.feed(b"2026-11-20T17:02:03.000004Z 01E e\n", &mut emit);
        unstamper.feed(b"2026-11-20T17:02:03.000004Z 01O o\n", &mut emit);
        unstamper.settle(&[], &mut emit);
        assert_eq!(pieces, [&b"e"[..], b"o\n", b"\n"]);
    }

    #[derive(Debug, Clone)]
    enum Act {
        Write(TraceStream, Vec<u8>),
        Idle,
    }

    fn act() -> impl Strategy<Value = Act> {
        let stream = prop_oneof![Just(TraceStream::STDOUT), Just(TraceStream::STDERR)];
        let text = prop_oneof![
            prop::collection::vec(prop::sample::select(b"ab\n\n\r\0\xff".to_vec()), 0..40),
            prop::collection::vec(any::<u8>(), 0..60),
            (8_000usize..9_000).prop_map(|length| vec![b'x'; length]),
        ];
        prop_oneof![
            6 => (stream, text).prop_map(|(stream, text)| Act::Write(stream, text)),
            1 => Just(Act::Idle),
        ]
    }

    proptest! {
        #[test]
        fn what_was_stamped_comes_back(
            acts in prop::collection::vec(act(), 0..30),
            cuts in prop::collection::vec(1usize..2_000, 1..20),
        ) {
            // R-STEP-39
            let streams = [TraceStream::STDOUT, TraceStream::STDERR];
            let mut stampers = streams.map(Stamper::new);
            let mut expect = Texts::new();
            let mut log = Vec::new();
            let now = SystemTime::UNIX_EPOCH + Duration::from_hours(500_000);
            for act in &acts {
                for (stream, stamper) in streams.iter().zip(&mut stampers) {
                    match act {
                        Act::Write(to, text) if to == stream => {
                            stamper.feed(now, text, &mut log);
                            if !text.is_empty() {
                                expect.entry(*to).or_default().extend_from_slice(text);
                            }
                        }
                        Act::Write(..) => {}
                        Act::Idle => stamper.flush_idle(&mut log),
                    }
                }
            }
            let mut open = Vec::new();
            for (stream, stamper) in streams.iter().zip(&mut stampers) {
                stamper.flush_idle(&mut log);
                if stamper.is_open() {
                    open.push(*stream);
                }
            }
            let mut pieces = Vec::new();
            let mut rest = &log[..];
            for cut in cuts.iter().cycle() {
                let (piece, tail) = rest.split_at(rest.len().min(*cut));
                pieces.push(piece);
                rest = tail;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(decode(&pieces, &open), expect);
        }
    }
}
