//! The log of a job as it was kept, on standard output.

use super::clean::Cleaner;
use super::place::Place;
use super::style::Style;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// A line that gets longer than this is shown in parts.
const LONGEST: usize = 64 << 10;

/// Shows a log: to people what does nothing to their terminal, to programs each byte.
#[derive(Debug)]
pub(crate) struct KeptLog {
    cleaner: Option<Cleaner>,
    /// The line that has not ended.
    line: Vec<u8>,
}

/// Whether somebody still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Reads,
    IsGone,
}

impl KeptLog {
    pub(crate) fn on_stdout() -> Self {
        let for_people = io::stdout().is_terminal();
        let colours = Style::of(Place::of_stdout()).has_colours();
        Self {
            cleaner: for_people.then(|| Cleaner::new(colours)),
            line: Vec::new(),
        }
    }

    /// Shows the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> io::Result<Reader> {
        match &mut self.cleaner {
            None => written(bytes),
            Some(cleaner) => {
                let mut out = String::new();
                for part in bytes.split_inclusive(|&byte| byte == b'\n') {
                    self.line.extend_from_slice(part);
                    if part.ends_with(b"\n") || self.line.len() > LONGEST {
                        clean_line(cleaner, &mut self.line, &mut out);
                    }
                }
                written(out.as_bytes())
            }
        }
    }

    /// Shows what did not end with a line.
    pub(crate) fn finish(&mut self) -> io::Result<Reader> {
        let mut out = String::new();
        if let Some(cleaner) = &mut self.cleaner
            && !self.line.is_empty()
        {
            clean_line(cleaner, &mut self.line, &mut out);
        }
        written(out.as_bytes())
    }
}

fn clean_line(cleaner: &mut Cleaner, line: &mut Vec<u8>, out: &mut String) {
    let text = String::from_utf8_lossy(line);
    out.push_str(&cleaner.line(text.trim_end_matches('\n')));
    out.push('\n');
    line.clear();
}

fn written(bytes: &[u8]) -> io::Result<Reader> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::IsGone),
        written => written.map(|()| Reader::Reads),
    }
}

/// Waits a moment for more to show, and notices when nobody will read it.
pub(crate) fn wait(moment: Duration) -> Reader {
    let stdout = io::stdout();
    // Nothing is asked for: that the other end was closed is told in any case.
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
