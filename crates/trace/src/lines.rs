//! Splits a byte stream into lines.

use std::borrow::Cow;

use memchr::memchr;

/// The longest piece of a line, 64 KiB.
pub const MAX_LINE: usize = 64 * 1024;

/// One line, or one piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The text without its line end, with U+FFFD for bytes that are not UTF-8.
    pub text: Cow<'a, str>,
    /// Whether the text continues the previous piece.
    pub continues: bool,
    /// Whether the line ends here. Otherwise its next piece has `continues` set.
    pub complete: bool,
}

/// Splits a byte stream into lines of at most [`MAX_LINE`] bytes.
///
/// A longer line is split into pieces, but never inside a code point. Lines end in `\n` or `\r\n`; other carriage
/// returns are part of the text.
///
/// ```
/// let mut splitter = trace::LineSplitter::new();
/// let mut lines = Vec::new();
/// splitter.feed(b"one\r\ntw", &mut |line| lines.push(line.text.into_owned()));
/// splitter.feed(b"o\n", &mut |line| lines.push(line.text.into_owned()));
/// assert_eq!(lines, ["one", "two"]);
/// ```
#[derive(Debug, Default)]
pub struct LineSplitter {
    buffer: Vec<u8>,
    continues: bool,
}

impl LineSplitter {
    /// Returns a splitter at the start of a line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes and passes the lines that they complete to `emit`.
    pub fn feed(&mut self, mut bytes: &[u8], emit: &mut impl FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            if self.buffer.is_empty() && line.len() <= MAX_LINE {
                emit_line(without_return(line), &mut self.continues, true, emit);
            } else {
                self.buffer_part(line, emit);
                let buffer = std::mem::take(&mut self.buffer);
                emit_line(without_return(&buffer), &mut self.continues, true, emit);
                self.buffer = buffer;
                self.buffer.clear();
            }
            bytes = rest;
        }
        self.buffer_part(bytes, emit);
    }

    /// Emits an unfinished line after a silence.
    ///
    /// An incomplete code point or line end is held back.
    pub fn flush_idle(&mut self, emit: &mut impl FnMut(Line<'_>)) {
        let mut end = self.buffer.len() - incomplete_tail(&self.buffer);
        if self.buffer[..end].ends_with(b"\r") {
            end -= 1;
        }
        self.emit_front(end, emit);
    }

    /// Ends the stream and emits an unfinished line.
    pub fn finish(&mut self, emit: &mut impl FnMut(Line<'_>)) {
        if !self.buffer.is_empty() || self.continues {
            let buffer = std::mem::take(&mut self.buffer);
            emit_line(without_return(&buffer), &mut self.continues, true, emit);
        }
    }

    /// Buffers a part of a line and emits complete pieces of it.
    fn buffer_part(&mut self, mut part: &[u8], emit: &mut impl FnMut(Line<'_>)) {
        // One byte more than a piece, so that "\r" and "\n" of one line end are together.
        while self.buffer.len() + part.len() > MAX_LINE + 1 {
            let (head, tail) = part.split_at((MAX_LINE + 1).saturating_sub(self.buffer.len()));
            self.buffer.extend_from_slice(head);
            part = tail;
            let piece = &self.buffer[..MAX_LINE];
            self.emit_front(MAX_LINE - incomplete_tail(piece), emit);
        }
        self.buffer.extend_from_slice(part);
    }

    fn emit_front(&mut self, end: usize, emit: &mut impl FnMut(Line<'_>)) {
        if end > 0 {
            emit_line(&self.buffer[..end], &mut self.continues, false, emit);
            self.buffer.drain(..end);
        }
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Emits text, in pieces if the replacement of invalid bytes made it too long.
fn emit_line(bytes: &[u8], continues: &mut bool, complete: bool, emit: &mut impl FnMut(Line<'_>)) {
    // Most lines are valid, which is faster to check than to find an invalid byte.
    let text = str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    let mut rest = &*text;
    while rest.len() > MAX_LINE {
        let (piece, tail) = rest.split_at(rest.floor_char_boundary(MAX_LINE));
        emit(Line {
            text: piece.into(),
            continues: *continues,
            complete: false,
        });
        *continues = true;
        rest = tail;
    }
    emit(Line {
        text: rest.into(),
        continues: *continues,
        complete,
    });
    *continues = !complete;
}

/// Returns the number of bytes at the end that are an incomplete code point.
fn incomplete_tail(bytes: &[u8]) -> usize {
    let Some(last) = bytes.utf8_chunks().last() else {
        return 0;
    };
    // Invalid bytes at the very end that start with a lead byte may still be completed.
    match last.invalid() {
        invalid @ [0xC2..=0xF4, ..] => invalid.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(pieces: &[&[u8]]) -> Vec<(String, bool, bool)> {
        let mut lines = Vec::new();
        let mut splitter = LineSplitter::new();
        let mut emit = |line: Line<'_>| {
            lines.push((line.text.into_owned(), line.continues, line.complete));
        };
        for piece in pieces {
            splitter.feed(piece, &mut emit);
        }
        splitter.finish(&mut emit);
        lines
    }

    #[test]
    fn line_ends_are_removed_at_every_split() {
        let text = b"one\r\ntwo\n\nfo\rur\r\n";
        let expect = ["one", "two", "", "fo\rur"];
        for split in 0..=text.len() {
            let (first, second) = text.split_at(split);
            let lines = collect(&[first, second]);
            let texts: Vec<_> = lines.iter().map(|line| line.0.as_str()).collect();
            assert_eq!(texts, expect, "split at {split}");
        }
    }

    #[test]
    fn long_line_is_split_at_code_points() {
        let text = format!("a{}\nend\n", "€".repeat(50_000));
        for size in [1000, 65_536, 200_000] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let lines = collect(&pieces);
            assert!(lines.iter().all(|(text, ..)| text.len() <= MAX_LINE));
            assert!(!lines.iter().any(|(text, ..)| text.contains('\u{fffd}')));
            let whole: String = lines[..lines.len() - 1]
                .iter()
                .map(|l| l.0.as_str())
                .collect();
            assert_eq!(whole.len(), 150_001);
            assert!(!lines[0].1 && lines[1].1 && !lines[0].2);
            assert_eq!(
                lines.last().expect("a line"),
                &("end".to_owned(), false, true)
            );
        }
    }

    #[test]
    fn unfinished_line_appears_when_idle() {
        let mut lines = Vec::new();
        let mut splitter = LineSplitter::new();
        let mut emit = |line: Line<'_>| {
            lines.push((line.text.into_owned(), line.continues, line.complete));
        };
        splitter.feed(b"Password: \xe2\x82", &mut emit);
        splitter.flush_idle(&mut emit);
        splitter.flush_idle(&mut emit);
        splitter.feed(b"\xac\r", &mut emit);
        splitter.flush_idle(&mut emit);
        splitter.feed(b"\n", &mut emit);
        splitter.finish(&mut emit);
        let expect = [
            ("Password: ".to_owned(), false, false),
            ("€".to_owned(), true, false),
            (String::new(), true, true),
        ];
        assert_eq!(lines, expect);
    }

    #[test]
    fn invalid_bytes_never_make_a_piece_too_long() {
        let lines = collect(&[&vec![0xff; 60_000], b"\n", b"\0\xc3\n"]);
        assert!(lines.iter().all(|(text, ..)| text.len() <= MAX_LINE));
        assert_eq!(lines.last().expect("a line").0, "\0\u{fffd}");
    }
}
