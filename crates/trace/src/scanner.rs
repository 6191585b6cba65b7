//! Finds section markers in a byte stream.

use memchr::memmem;

/// The start of every marker.
const BEGIN: &[u8] = b"section_";
const HIDE_LINE: &[u8] = b"\x1b[0K";
/// The longest marker; longer text is not a marker.
const MAX_MARKER: usize = 1024;

/// A part of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SectionEvent<'a> {
    /// Anything that is not a marker.
    Text(&'a [u8]),
    /// A section starts.
    Start {
        /// The time in seconds since the epoch.
        at: u64,
        /// The name.
        name: &'a str,
        /// The text between the brackets, empty without them.
        options: &'a str,
    },
    /// A section ends.
    End {
        /// The time in seconds since the epoch.
        at: u64,
        /// The name.
        name: &'a str,
    },
}

/// Finds section markers in a log, for programs that render it.
///
/// A job can print markers too, also unbalanced ones: they fold the text, and have no other effect. Invalid markers are
/// text. The clear-line code after a marker belongs to it.
///
/// ```
/// use trace::{SectionEvent, SectionScanner};
///
/// let mut names = Vec::new();
/// let mut scanner = SectionScanner::new();
/// let mut emit = |event: SectionEvent<'_>| {
///     if let SectionEvent::Start { name, .. } = event {
///         names.push(name.to_owned());
///     }
/// };
/// scanner.feed(b"a\nsection_start:1700000000:bu", &mut emit);
/// scanner.feed(b"ild\r\x1b[0KBuilding\n", &mut emit);
/// scanner.finish(&mut emit);
/// assert_eq!(names, ["build"]);
/// ```
#[derive(Debug, Default)]
pub struct SectionScanner {
    held: Vec<u8>,
}

enum Parsed<'a> {
    Marker(SectionEvent<'a>, usize),
    Incomplete,
    NoMarker,
}

impl SectionScanner {
    /// Returns a scanner at the start of a log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the next bytes; text and markers go to `emit` in order.
    ///
    /// The start of a possible marker, at most 1 KiB, is held until more bytes arrive.
    pub fn feed(&mut self, bytes: &[u8], emit: &mut impl FnMut(SectionEvent<'_>)) {
        if self.held.is_empty() {
            let used = scan(bytes, emit);
            self.held.extend_from_slice(&bytes[used..]);
        } else {
            self.held.extend_from_slice(bytes);
            let used = scan(&self.held, emit);
            self.held.drain(..used);
        }
    }

    /// Emits held bytes as text.
    pub fn finish(&mut self, emit: &mut impl FnMut(SectionEvent<'_>)) {
        // A marker at the very end needs no clear-line code.
        let held = std::mem::take(&mut self.held);
        let mut rest = &held[..];
        if let Parsed::Marker(event, length) = parse(rest, End::OfLog) {
            emit(event);
            rest = &rest[length..];
        }
        emit_text(rest, emit);
    }
}

/// Whether more bytes may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfPiece,
    OfLog,
}

/// Emits all certain parts and returns their length.
fn scan(bytes: &[u8], emit: &mut impl FnMut(SectionEvent<'_>)) -> usize {
    let finder = memmem::Finder::new(BEGIN);
    let mut text = 0;
    let mut at = 0;
    while let Some(found) = finder.find(&bytes[at..]) {
        let start = at + found;
        match parse(&bytes[start..], End::OfPiece) {
            Parsed::Marker(event, length) => {
                emit_text(&bytes[text..start], emit);
                emit(event);
                text = start + length;
                at = text;
            }
            Parsed::Incomplete => {
                emit_text(&bytes[text..start], emit);
                return start;
            }
            Parsed::NoMarker => at = start + BEGIN.len(),
        }
    }
    let rest = &bytes[at..];
    let possible = (1..BEGIN.len().min(rest.len() + 1)).rev();
    let held = possible
        .into_iter()
        .find(|length| rest.ends_with(&BEGIN[..*length]));
    let end = bytes.len() - held.unwrap_or(0);
    emit_text(&bytes[text..end], emit);
    end
}

fn emit_text(text: &[u8], emit: &mut impl FnMut(SectionEvent<'_>)) {
    if !text.is_empty() {
        emit(SectionEvent::Text(text));
    }
}

/// Reads a marker at the start of `bytes`.
fn parse(bytes: &[u8], end: End) -> Parsed<'_> {
    let window = &bytes[..bytes.len().min(MAX_MARKER)];
    let Some(line_end) = window.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        return if window.len() < MAX_MARKER && end == End::OfPiece && may_become_marker(window) {
            Parsed::Incomplete
        } else {
            Parsed::NoMarker
        };
    };
    if window[line_end] == b'\n' {
        return Parsed::NoMarker;
    }
    let Some(event) = std::str::from_utf8(&window[..line_end])
        .ok()
        .and_then(parse_text)
    else {
        return Parsed::NoMarker;
    };
    let after = &bytes[line_end + 1..];
    if after.starts_with(HIDE_LINE) {
        Parsed::Marker(event, line_end + 1 + HIDE_LINE.len())
    } else if HIDE_LINE.starts_with(after) && end == End::OfPiece {
        Parsed::Incomplete
    } else {
        Parsed::Marker(event, line_end + 1)
    }
}

fn may_become_marker(window: &[u8]) -> bool {
    ["section_start:", "section_end:"].iter().any(|begin| {
        let length = window.len().min(begin.len());
        window[..length] == begin.as_bytes()[..length]
    })
}

fn parse_text(marker: &str) -> Option<SectionEvent<'_>> {
    let (kind, rest) = marker.split_once(':')?;
    let (second, rest) = rest.split_once(':')?;
    let at = second.parse().ok()?;
    let (name, options) = match rest.split_once('[') {
        Some((name, options)) => (name, options.strip_suffix(']')?),
        None => (rest, ""),
    };
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if name.is_empty() || !name.bytes().all(allowed) {
        return None;
    }
    match kind {
        "section_start" => Some(SectionEvent::Start { at, name, options }),
        "section_end" if options.is_empty() => Some(SectionEvent::End { at, name }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(pieces: &[&[u8]]) -> Vec<String> {
        let mut seen: Vec<String> = Vec::new();
        let mut text = Vec::new();
        let mut scanner = SectionScanner::new();
        let mut emit = |event: SectionEvent<'_>| match event {
            SectionEvent::Text(bytes) => text.extend_from_slice(bytes),
            other => {
                let before = String::from_utf8_lossy(&text).into_owned();
                text.clear();
                seen.push(before);
                seen.push(format!("{other:?}"));
            }
        };
        for piece in pieces {
            scanner.feed(piece, &mut emit);
        }
        scanner.finish(&mut emit);
        seen.push(String::from_utf8_lossy(&text).into_owned());
        seen
    }

    #[test]
    fn markers_are_found_at_every_split() {
        let log = b"section_ x\nsection_start:12:one[collapsed=true]\r\x1b[0KHead\n\
                    body section_end:13:one\r\x1b[0Ksection_start:x:y\r section_end:9:z\r";
        let expect = [
            "section_ x\n",
            "Start { at: 12, name: \"one\", options: \"collapsed=true\" }",
            "Head\nbody ",
            "End { at: 13, name: \"one\" }",
            "section_start:x:y\r ",
            "End { at: 9, name: \"z\" }",
            "",
        ];
        for split in 0..=log.len() {
            let (first, second) = log.split_at(split);
            assert_eq!(collect(&[first, second]), expect, "split at {split}");
        }
        let single: Vec<&[u8]> = log.chunks(1).collect();
        assert_eq!(collect(&single), expect);
    }

    #[test]
    fn endless_marker_is_text() {
        let log = format!("section_start:1:{}", "x".repeat(5000));
        assert_eq!(collect(&[log.as_bytes()]), [log]);
    }
}
