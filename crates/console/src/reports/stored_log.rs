//! The stored log of a job, on standard output.

use crate::log::{Part, may_have_marks, parts};
use crate::text::{Cleaner, OutputFeatures, Style};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write};
use std::time::Duration;

/// A line that gets longer than this is shown in parts.
const LONGEST: usize = 64 << 10;

/// Shows a log without control characters and marks of sections.
#[derive(Debug)]
pub struct StoredLog {
    cleaner: Cleaner,
    stamps: Stamps,
    /// A line that ends with a carriage return: the next line may continue, and so overwrite it.
    held: Vec<u8>,
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
        Self::new(Style::of(OutputFeatures::of_stdout()).has_colours(), stamps)
    }

    fn new(colours: bool, stamps: Stamps) -> Self {
        Self {
            cleaner: Cleaner::new(colours),
            stamps,
            held: Vec::new(),
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
        self.show_held(&mut out);
        if self.owes_end {
            out.push(b'\n');
        }
        (self.is_begun, self.owes_end) = (false, false);
        out
    }

    fn show_line(&mut self, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let ended = line.ends_with(b"\n");
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let unstamped = Stamped {
            stamp: &[],
            continues: self.is_begun,
            text,
        };
        let mut stamped = match Stamped::split(text) {
            Some(stamped) if !self.is_begun => stamped,
            _ => unstamped,
        };
        match self.stamps {
            Stamps::Keep => stamped.continues = self.is_begun,
            Stamps::LeaveOut => stamped.stamp = &[],
        }
        if !stamped.continues {
            self.show_held(out);
        }
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(stamped.text);
        if self.stamps == Stamps::LeaveOut && ended && text.ends_with(b"\r") {
            self.end_line(stamped.continues, out);
            self.held = text;
        } else if let Some(text) = self.visible(&text) {
            self.end_line(stamped.continues, out);
            out.extend_from_slice(stamped.stamp);
            out.extend_from_slice(text.as_bytes());
            self.owes_end = ended;
        }
        self.is_begun = !ended;
    }

    /// Ends the line before, if its end is still to be shown.
    fn end_line(&mut self, continues: bool, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.owes_end) && !continues {
            out.push(b'\n');
        }
    }

    /// Shows a line that no other line continues.
    fn show_held(&mut self, out: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty()
            && let Some(text) = self.visible(&held)
        {
            out.extend_from_slice(text.as_bytes());
            self.owes_end = true;
        }
    }

    /// Returns the visible text; none of a line that consists of marks.
    fn visible(&mut self, text: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(text);
        if !may_have_marks(&text) {
            return Some(self.cleaner.line(&text).into_owned());
        }
        let texts = parts(&text).filter_map(|part| match part {
            Part::Text(text) => Some(self.cleaner.line(text).into_owned()),
            Part::Start { .. } | Part::End { .. } => None,
        });
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// A line of a job's log.
struct Stamped<'l> {
    /// When it was written, and by what: `2026-11-21T10:00:00.123456Z 00O `.
    stamp: &'l [u8],
    /// Whether it continues the line before.
    continues: bool,
    text: &'l [u8],
}

impl<'l> Stamped<'l> {
    /// Splits a line; none of a line without a stamp.
    fn split(line: &'l [u8]) -> Option<Self> {
        const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd.ddddddZ hhs";
        let fits = |(&byte, &kind): (&u8, &u8)| match kind {
            b'd' => byte.is_ascii_digit(),
            b'h' => byte.is_ascii_hexdigit(),
            b's' => byte == b'O' || byte == b'E',
            kind => byte == kind,
        };
        let (stamp, text) = line.split_at_checked(SHAPE.len() + 1)?;
        let continues = match stamp[SHAPE.len()] {
            b' ' => false,
            b'+' => true,
            _ => return None,
        };
        let is_stamp = stamp.iter().zip(SHAPE).all(fits);
        is_stamp.then_some(Self {
            stamp,
            continues,
            text,
        })
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
                let mut shown = StoredLog::new(false, stamps);
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
        // What overwrites itself is shown in its last state, whole or in pieces.
        let [first, next] = [" ", "+"].map(|sign| format!("2026-11-21T10:00:00.123456Z 01O{sign}"));
        let bar = format!("{first}10%\r\n{next}20%\r\n{next}\x1b[32m30%\x1b[0m\n{first}end\n");
        check(Stamps::LeaveOut, &bar, "30%\nend\n");
        check(Stamps::LeaveOut, "1\r2\n3\r\n4\n", "2\n3\n4\n");
        let stamped = format!("{first}10%\n{next}20%\n{next}30%\n{first}end\n");
        check(Stamps::Keep, &bar, &stamped);
        // Marks of sections are left out, their headers are not.
        let start = "\x1b[0Ksection_start:15:a[collapsed=true]\r\x1b[0KHeader";
        let end = "\x1b[0Ksection_end:16:a\r\x1b[0K";
        let section = format!("{first}{start}\n{first}in\n{first}{end}\n{first}out\n");
        check(Stamps::LeaveOut, &section, "Header\nin\nout\n");
        let cut = format!("{first}{}\r\n{next}Head\n{first}out\n", &start[..42]);
        check(Stamps::LeaveOut, &cut, "Head\nout\n");
    }
}
