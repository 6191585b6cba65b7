//! The timestamped log format.

use std::time::{Duration, SystemTime};

use memchr::{memchr, memrchr};

use executor_core::{StreamKind, TraceStream};

/// `YYYY-MM-DDTHH:MM:SS.ffffffZ SSx` and the flag.
pub(crate) const HEADER: usize = 32;
const SECOND_END: usize = 19;
const MICROS: usize = 20;
const FLAG: usize = HEADER - 1;
/// The longest unfinished line that is not split.
const LINE_BUFFER: usize = 8 * 1024;
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// Puts the time and the stream before each line of one stream.
///
/// A line has the form `2026-11-20T17:02:03.000004Z 01O text`. The time is UTC, the number is the stream's
/// [source](TraceStream::source) in hexadecimal, `O` or `E` the output. A `+` in place of the blank before the text means
/// that the text continues the previous line of the stream: an unfinished line is written if it exceeds 8 KiB, if it has
/// a carriage return (a progress bar), or when the stream is silent.
///
/// The stamp is the time of the first byte of the line, and is never earlier than the previous stamp of the stream.
#[derive(Debug)]
pub struct Stamper {
    header: [u8; HEADER],
    /// The second in `header`.
    second: Option<u64>,
    last: Duration,
    /// The unfinished line with its header; empty between lines.
    line: Vec<u8>,
    /// The unfinished line ends in a carriage return, which a newline may follow.
    after_return: bool,
}

impl Stamper {
    /// Returns a stamper at the start of `stream`.
    pub fn new(stream: TraceStream) -> Self {
        let mut header = *b"0000-00-00T00:00:00.000000Z 00O ";
        let hexadecimal = b"0123456789abcdef";
        let number = stream.source;
        header[28] = hexadecimal[usize::from(number >> 4)];
        header[29] = hexadecimal[usize::from(number & 0x0f)];
        header[30] = match stream.kind {
            StreamKind::Stdout => b'O',
            StreamKind::Stderr => b'E',
        };
        Self {
            header,
            second: None,
            last: Duration::ZERO,
            line: Vec::new(),
            after_return: false,
        }
    }

    /// Returns a stamper in the middle of a line of `stream`, whose start another one has written.
    pub(crate) fn going_on(stream: TraceStream) -> Self {
        let mut stamper = Self::new(stream);
        stamper.header[FLAG] = b'+';
        stamper
    }

    /// Returns whether a part of a line is held.
    pub(crate) fn waits(&self) -> bool {
        !self.line.is_empty()
    }

    /// Reads text that arrived at `now` and appends the lines it completes to `out`.
    pub fn feed(&mut self, now: SystemTime, text: &[u8], out: &mut Vec<u8>) {
        if self.after_return && !text.is_empty() {
            self.after_return = false;
            if text[0] != b'\n' {
                self.end_part(out);
            }
        }
        self.set_time(now);
        let rest = self.finish_lines(text, out);
        if !rest.is_empty() {
            self.begin_line(rest, out);
        }
    }

    /// Writes an unfinished line after a silence.
    pub fn flush_idle(&mut self, out: &mut Vec<u8>) {
        if !self.line.is_empty() {
            self.after_return = false;
            self.end_part(out);
        }
    }

    /// Returns whether the newline of the last written line is not the stream's own: the next text continues the line.
    pub fn is_open(&self) -> bool {
        let next = if self.line.is_empty() {
            &self.header[..]
        } else {
            &self.line
        };
        next[FLAG] == b'+'
    }

    /// Ends the stream and writes an unfinished line.
    ///
    /// To know whether there was one, call [`flush_idle`](Self::flush_idle) before, and then [`is_open`](Self::is_open).
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.flush_idle(out);
        self.header[FLAG] = b' ';
    }

    /// Writes all complete lines of `text` and returns the rest.
    fn finish_lines<'a>(&mut self, mut text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        while let Some(end) = memchr(b'\n', text) {
            let (line, rest) = text.split_at(end + 1);
            if self.line.is_empty() {
                self.write_header_to(out);
            } else {
                out.append(&mut self.line);
            }
            out.extend_from_slice(line);
            text = rest;
        }
        text
    }

    fn begin_line(&mut self, rest: &[u8], out: &mut Vec<u8>) {
        if self.line.is_empty() {
            let header = self.take_header();
            self.line.extend_from_slice(&header);
        }
        self.line.extend_from_slice(rest);
        let held = self.line.len() - HEADER;
        if rest.ends_with(b"\r") {
            self.after_return = true;
        }
        let progress = memrchr(b'\r', rest).is_some() && !self.after_return;
        if progress || held > LINE_BUFFER {
            self.after_return = false;
            self.end_part(out);
        }
    }

    /// Writes the unfinished line; the next text is marked as its continuation.
    fn end_part(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.line);
        out.push(b'\n');
        self.header[FLAG] = b'+';
    }

    fn write_header_to(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header);
        self.header[FLAG] = b' ';
    }

    fn take_header(&mut self) -> [u8; HEADER] {
        let header = self.header;
        self.header[FLAG] = b' ';
        header
    }

    fn set_time(&mut self, now: SystemTime) {
        let since_epoch = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        self.last = self.last.max(since_epoch);
        let second = self.last.as_secs();
        if self.second != Some(second) {
            self.second = Some(second);
            self.header[..SECOND_END].copy_from_slice(&format_second(second));
        }
        put_digits(
            &mut self.header[MICROS..MICROS + 6],
            self.last.subsec_micros().into(),
        );
    }
}

/// Formats seconds since the epoch as `YYYY-MM-DDTHH:MM:SS`.
fn format_second(second: u64) -> [u8; SECOND_END] {
    let (year, month, day) = date(second / SECONDS_PER_DAY);
    let time = second % SECONDS_PER_DAY;
    let mut text = *b"0000-00-00T00:00:00";
    put_digits(&mut text[0..4], year);
    put_digits(&mut text[5..7], month);
    put_digits(&mut text[8..10], day);
    put_digits(&mut text[11..13], time / 3600);
    put_digits(&mut text[14..16], time / 60 % 60);
    put_digits(&mut text[17..19], time % 60);
    text
}

fn put_digits(place: &mut [u8], mut value: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + u8::try_from(value % 10).unwrap_or_default();
        value /= 10;
    }
}

/// Returns year, month and day of a day counted from the epoch.
fn date(days: u64) -> (u64, u64, u64) {
    let mut year = 1970 + days / 366;
    while first_day(year + 1) <= days {
        year += 1;
    }
    let mut rest = days - first_day(year);
    let mut month = 1;
    for length in month_lengths(year) {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1)
}

/// Returns the day on which a year from 1970 on begins, counted from the epoch.
fn first_day(year: u64) -> u64 {
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969)
}

fn month_lengths(year: u64) -> [u64; 12] {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let february = if leap { 29 } else { 28 };
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}

/// A clock for the log.
///
/// Any `Fn() -> SystemTime` is a clock, for example `|| SystemTime::UNIX_EPOCH` in tests.
pub trait Clock: Send + Sync {
    /// Returns the current time. It may jump; the log's stamps never go back.
    fn now(&self) -> SystemTime;
}

impl<F: Fn() -> SystemTime + Send + Sync> Clock for F {
    fn now(&self) -> SystemTime {
        self()
    }
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64, micros: u32) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::new(second, micros * 1000)
    }

    #[test]
    fn known_seconds() {
        let check = |second, expect: &str| {
            assert_eq!(String::from_utf8_lossy(&format_second(second)), expect);
        };
        check(0, "1970-01-01T00:00:00");
        check(951_782_399, "2000-02-28T23:59:59");
        check(951_782_400, "2000-02-29T00:00:00");
        check(1_709_164_800, "2024-02-29T00:00:00");
        check(1_735_689_599, "2024-12-31T23:59:59");
        check(1_735_689_600, "2025-01-01T00:00:00");
        check(4_107_542_400, "2100-03-01T00:00:00");
    }

    #[test]
    fn stamps_never_go_back() {
        let mut stamper = Stamper::new(TraceStream::STDERR);
        let mut out = Vec::new();
        stamper.feed(at(10, 5), b"a\n", &mut out);
        stamper.feed(at(9, 0), b"b\n", &mut out);
        stamper.feed(at(10, 6), b"c\n", &mut out);
        let expect = "1970-01-01T00:00:10.000005Z 01E a\n\
                      1970-01-01T00:00:10.000005Z 01E b\n\
                      1970-01-01T00:00:10.000006Z 01E c\n";
        assert_eq!(String::from_utf8_lossy(&out), expect);
    }
}
