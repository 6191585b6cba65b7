//! The stored log of a job, on standard output.

use crate::text::{Cleaner, OutputFeatures, Style};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// A line that gets longer than this is shown in parts.
const LONGEST: usize = 64 << 10;

/// Shows a log: on a terminal without control characters, elsewhere byte by byte.
#[derive(Debug)]
pub struct StoredLog {
    cleaner: Option<Cleaner>,
    stamps: Stamps,
    /// What has not been shown of the last line.
    line: Vec<u8>,
    /// Whether a part of that was shown.
    is_begun: bool,
    /// Whether the end of the last line is still to be shown: the next may continue it.
    owes_end: bool,
}

/// Whether the timestamp before each line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamps {
    /// It is shown.
    Keep,
    /// It is left out.
    LeaveOut,
}

/// Whether the reader of standard output is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// It reads on.
    Reads,
    /// It closed its end, as `head` does.
    IsGone,
}

impl StoredLog {
    /// Creates one for standard output.
    pub fn on_stdout(stamps: Stamps) -> Self {
        let for_people = io::stdout().is_terminal();
        let colours = Style::of(OutputFeatures::of_stdout()).has_colours();
        Self::new(for_people.then(|| Cleaner::new(colours)), stamps)
    }

    fn new(cleaner: Option<Cleaner>, stamps: Stamps) -> Self {
        Self {
            cleaner,
            stamps,
            line: Vec::new(),
            is_begun: false,
            owes_end: false,
        }
    }

    /// Shows the next bytes.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn take(&mut self, bytes: &[u8]) -> io::Result<Reader> {
        written(&self.shown(bytes))
    }

    /// Shows the rest of a last line without an end.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn finish(&mut self) -> io::Result<Reader> {
        written(&self.rest())
    }

    fn shown(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() > LONGEST {
                self.show_line(&mut out);
            }
        }
        out
    }

    fn rest(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.line.is_empty() {
            self.show_line(&mut out);
        }
        if self.owes_end {
            out.push(b'\n');
        }
        (self.is_begun, self.owes_end) = (false, false);
        out
    }

    fn show_line(&mut self, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let ended = line.ends_with(b"\n");
        let mut text = line.strip_suffix(b"\n").unwrap_or(&line);
        let mut continues = self.is_begun;
        if self.stamps == Stamps::LeaveOut
            && !self.is_begun
            && let Some((goes_on, rest)) = without_stamp(text)
        {
            (continues, text) = (goes_on, rest);
        }
        if self.owes_end && !continues {
            out.push(b'\n');
        }
        match &mut self.cleaner {
            Some(cleaner) => {
                let text = String::from_utf8_lossy(text);
                out.extend_from_slice(cleaner.line(&text).as_bytes());
            }
            None => out.extend_from_slice(text),
        }
        (self.is_begun, self.owes_end) = (!ended, ended);
    }
}

/// Splits what a job's log has before a line: when it was written, by whom, and whether it continues
/// the line before, as in `2026-11-21T10:00:00.123456Z 00O `.
fn without_stamp(line: &[u8]) -> Option<(bool, &[u8])> {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd.ddddddZ hhs";
    let fits = |(&byte, &kind): (&u8, &u8)| match kind {
        b'd' => byte.is_ascii_digit(),
        b'h' => byte.is_ascii_hexdigit(),
        b's' => byte == b'O' || byte == b'E',
        kind => byte == kind,
    };
    let (stamp, rest) = line.split_at_checked(SHAPE.len())?;
    if !stamp.iter().zip(SHAPE).all(fits) {
        return None;
    }
    match rest.split_first()? {
        (b' ', rest) => Some((false, rest)),
        (b'+', rest) => Some((true, rest)),
        _ => None,
    }
}

fn written(bytes: &[u8]) -> io::Result<Reader> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::IsGone),
        written => written.map(|()| Reader::Reads),
    }
}

/// Waits a moment, and notices when the reader is gone.
pub fn wait(moment: Duration) -> Reader {
    let stdout = io::stdout();
    // No event is requested: a closed other end is always reported.
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    let moment = Timespec::try_from(moment).ok();
    // An interruption ends the wait early, which does no harm.
    let _ = poll(&mut watched, moment.as_ref());
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    if watched[0].revents().intersects(gone) {
        Reader::IsGone
    } else {
        Reader::Reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_without_their_times_and_whole() {
        let check = |stamps, log: &str, expect: &str| {
            // However it is cut into pieces.
            for size in [1, 7, log.len().max(1)] {
                let mut shown = StoredLog::new(None, stamps);
                let mut out = Vec::new();
                for piece in log.as_bytes().chunks(size) {
                    out.extend(shown.shown(piece));
                }
                out.extend(shown.rest());
                assert_eq!(String::from_utf8(out).unwrap(), expect, "{log:?} by {size}");
            }
        };
        let log =
            "2026-11-21T10:00:00.123456Z 00O one\n2026-11-21T10:00:00.123457Z 01E+ more\nplain\n";
        check(Stamps::LeaveOut, log, "one more\nplain\n");
        check(Stamps::Keep, log, log);
        check(Stamps::LeaveOut, "", "");
        check(Stamps::LeaveOut, "no end", "no end");
        check(Stamps::LeaveOut, "\n\na\n", "\n\na\n");
        let empty = "2026-11-21T10:00:00.123456Z 00O \n";
        check(Stamps::LeaveOut, empty, "\n");
    }
}
