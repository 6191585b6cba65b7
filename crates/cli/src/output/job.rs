//! One job on its way through the output.

use super::entry::{Entry, Source};
use super::fold::Folding;
use super::lines::{Lines, Piece};
use super::printer::Printer;
use super::spill::Spill;
use std::io;

/// How much of the log of a job waits in memory for the job's end; the rest waits on disk.
const IN_MEMORY: usize = 256 << 10;

/// The log of one job: shown as it comes, or kept until the job ends.
#[derive(Debug)]
pub(super) struct Job {
    lines: Lines,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Stream(Printer),
    Block { kept: Spill, lost: bool },
}

impl Job {
    /// Returns a job whose log is shown as it comes.
    pub(super) fn streamed(printer: Printer) -> Self {
        Self {
            lines: Lines::default(),
            way: Way::Stream(printer),
        }
    }

    /// Returns a job whose log is kept until it ends.
    pub(super) fn kept() -> Self {
        Self {
            lines: Lines::default(),
            way: Way::Block {
                kept: Spill::new(IN_MEMORY),
                lost: false,
            },
        }
    }

    /// Takes a piece of a line.
    pub(super) fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>) {
        let way = &mut self.way;
        self.lines.take(piece, &mut |source, line| {
            way.take(Entry::Line(source, line), out);
        });
    }

    /// Takes the beginning or the end of a stage.
    pub(super) fn stage(&mut self, entry: Entry<'_>, out: &mut Vec<u8>) {
        self.end_lines(out);
        self.way.take(entry, out);
    }

    /// Returns what the job has written of a line that has not ended.
    pub(super) fn unfinished(&self, source: Source) -> Option<&str> {
        self.lines.unfinished(source)
    }

    /// Ends the log of a job whose log was shown as it came.
    pub(super) fn end_stream(&mut self, out: &mut Vec<u8>) {
        self.end_lines(out);
        if let Way::Stream(printer) = &mut self.way {
            printer.finish(out);
        }
    }

    /// Returns whether the log waits for the end of the job.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.way, Way::Block { .. })
    }

    /// Shows the log that was kept, a part after the other, and forgets it.
    pub(super) fn show_block(&mut self, mut printer: Printer, mut show: impl FnMut(&[u8])) {
        self.end_lines(&mut Vec::new());
        let Way::Block { kept, lost } = &mut self.way else {
            return;
        };
        let mut out = Vec::new();
        let mut rest = Vec::new();
        let mut failed = *lost;
        loop {
            match kept.take() {
                Ok(Some(piece)) => rest.extend_from_slice(&piece),
                Ok(None) => break,
                Err(_) => failed = true,
            }
            let end = memchr::memrchr(b'\n', &rest).map_or(0, |at| at + 1);
            // All that was kept is text, and no part of it ends within a character.
            let whole = String::from_utf8_lossy(&rest[..end]);
            for entry in whole.split_terminator('\n').filter_map(Entry::read) {
                printer.take(entry, &mut out);
            }
            drop(whole);
            rest.drain(..end);
            show(&out);
            out.clear();
        }
        printer.finish(&mut out);
        if failed {
            let text = "(a part of this log could not be kept for here; the file has all of it)";
            printer.own_line(text, &mut out);
        }
        show(&out);
    }

    fn end_lines(&mut self, out: &mut Vec<u8>) {
        let way = &mut self.way;
        self.lines
            .finish(&mut |source, line| way.take(Entry::Line(source, line), out));
    }
}

impl Way {
    fn take(&mut self, entry: Entry<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Stream(printer) => printer.take(entry, out),
            Self::Block { kept, lost } => {
                let mut bytes = Vec::with_capacity(128);
                entry.write(&mut bytes);
                let pushed: io::Result<()> = kept.push(&bytes);
                *lost |= pushed.is_err();
            }
        }
    }
}

/// Returns how much of a log folds that is shown once its job has ended.
pub(super) fn folding_of_block(verbose: bool, succeeded: bool) -> Folding {
    match (verbose, succeeded) {
        (true, _) => Folding::Verbose,
        (false, true) => Folding::All,
        (false, false) => Folding::Own,
    }
}
