//! The log of one job: streamed, or kept until the job ends.

use super::fold::Folding;
use super::printer::Printer;
use super::spill::Spill;
use crate::log::{Entry, Source};
use crate::log::{LineJoiner, Piece};

/// Of longer logs of failed jobs, the live view shows the end, because they would fill the terminal.
const MOST_LINES: u64 = 1000;

/// Of longer lines, the live view shows the beginning.
const LONGEST_LINE: usize = 4 << 10;

/// How much of the log of a job waits in memory for the job's end; the rest waits on disk.
const IN_MEMORY: usize = 256 << 10;

/// The log of one job: shown as it comes, or kept until the job ends.
#[derive(Debug)]
pub(super) struct JobLog {
    lines: LineJoiner,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Stream(Box<Printer>),
    Block(Block),
}

/// A log that waits for the end of its job.
#[derive(Debug)]
struct Block {
    kept: Spill,
    lost: bool,
    extent: Extent,
    /// How many lines the job has written.
    lines: u64,
}

/// How much is shown of a log that was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// As much as fits a terminal.
    End,
}

impl JobLog {
    /// Returns a job whose log is shown as it comes.
    pub(super) fn streamed(printer: Printer) -> Self {
        Self {
            lines: LineJoiner::default(),
            target: Target::Stream(Box::new(printer)),
        }
    }

    /// Returns a job whose log is kept until it ends.
    pub(super) fn kept(extent: Extent) -> Self {
        Self {
            lines: LineJoiner::default(),
            target: Target::Block(Block {
                kept: Spill::new(IN_MEMORY),
                lost: false,
                extent,
                lines: 0,
            }),
        }
    }

    /// Takes a piece of a line.
    pub(super) fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>) {
        let target = &mut self.target;
        self.lines.take(piece, &mut |source, line| {
            target.take(Entry::Line(source, line), out);
        });
    }

    /// Takes the beginning or the end of a stage.
    pub(super) fn stage(&mut self, entry: Entry<'_>, out: &mut Vec<u8>) {
        self.end_lines(out);
        self.target.take(entry, out);
    }

    /// Returns the line of a source that has not ended.
    pub(super) fn unfinished(&self, source: Source) -> Option<&str> {
        self.lines.unfinished(source)
    }

    /// Ends the log of a job whose log was shown as it came.
    pub(super) fn end_stream(&mut self, out: &mut Vec<u8>) {
        self.end_lines(out);
        if let Target::Stream(printer) = &mut self.target {
            printer.finish(out);
        }
    }

    /// Returns whether the log waits for the end of the job.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.target, Target::Block(_))
    }

    /// Shows the log that was kept, a part after the other, and forgets it.
    pub(super) fn show_block(&mut self, mut printer: Printer, mut show: impl FnMut(&[u8])) {
        self.end_lines(&mut Vec::new());
        let Target::Block(block) = &mut self.target else {
            return;
        };
        let mut out = Vec::new();
        let mut rest = Vec::new();
        let mut failed = block.lost;
        let mut left_out = block.lines_left_out();
        if left_out > 0 {
            let text = format!("({left_out} earlier lines are in the whole log)");
            printer.own_line(&text, &mut out);
        }
        let mut piece = Vec::new();
        while block.kept.len() > 0 {
            failed |= block.kept.take(&mut piece).is_err();
            rest.extend_from_slice(&piece);
            let end = memchr::memrchr(b'\n', &rest).map_or(0, |at| at + 1);
            // All that was kept is text, and no part of it ends within a character.
            let whole = String::from_utf8_lossy(&rest[..end]);
            for entry in whole.split_terminator('\n').filter_map(Entry::read) {
                if left_out > 0 && is_of_the_job(&entry) {
                    left_out -= 1;
                } else {
                    printer.take(entry, &mut out);
                }
            }
            drop(whole);
            rest.drain(..end);
            show(&out);
            out.clear();
        }
        printer.finish(&mut out);
        if failed {
            let text = "(part of this log cannot be shown here; the file is complete)";
            printer.own_line(text, &mut out);
        }
        show(&out);
    }

    fn end_lines(&mut self, out: &mut Vec<u8>) {
        let target = &mut self.target;
        self.lines
            .finish(&mut |source, line| target.take(Entry::Line(source, line), out));
    }
}

impl Target {
    fn take(&mut self, entry: Entry<'_>, out: &mut Vec<u8>) {
        match self {
            Self::Stream(printer) => printer.take(entry, out),
            Self::Block(block) => block.take(entry),
        }
    }
}

impl Block {
    fn take(&mut self, entry: Entry<'_>) {
        self.lines += u64::from(is_of_the_job(&entry));
        let kept = self.kept.append(|bytes| match (entry, self.extent) {
            (Entry::Line(source, text), Extent::End) if is_too_long(text) => {
                let (shown, rest) = text.split_at(text.floor_char_boundary(LONGEST_LINE));
                let text = format!("{shown} ({} more bytes)", rest.len());
                Entry::Line(source, &text).write(bytes);
            }
            (entry, _) => entry.write(bytes),
        });
        self.lost |= kept.is_err();
    }

    /// Returns how many of the job's first lines are not shown.
    fn lines_left_out(&self) -> u64 {
        match self.extent {
            Extent::Whole => 0,
            Extent::End => self.lines.saturating_sub(MOST_LINES),
        }
    }
}

/// Returns whether the job or one of its services wrote it.
fn is_of_the_job(entry: &Entry<'_>) -> bool {
    let Entry::Line(source, _) = entry else {
        return false;
    };
    matches!(source, Source::Stdout | Source::Stderr | Source::Service)
}

/// Returns whether a line is cut; of one that overwrites itself, its end counts.
fn is_too_long(text: &str) -> bool {
    text.len() > LONGEST_LINE && !text.contains('\r')
}

/// Returns how much of a log folds that is shown once its job has ended.
pub(super) fn block_folding(verbose: bool, succeeded: bool) -> Folding {
    match (verbose, succeeded) {
        (true, _) => Folding::Verbose,
        (false, true) => Folding::All,
        (false, false) => Folding::Own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;

    /// Returns the shown lines of a failed job that wrote these.
    fn shown(extent: Extent, lines: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut job = JobLog::kept(extent);
        let write = |job: &mut JobLog, source, text: &str| {
            let piece = Piece {
                source,
                text,
                continues: false,
                open: false,
            };
            job.piece(piece, &mut Vec::new());
        };
        write(&mut job, Source::Warning, "WARNING: careful");
        for line in lines {
            write(&mut job, Source::Stdout, &line);
        }
        let printer = Printer::new(String::new(), Style::PLAIN, block_folding(false, false));
        let mut text = Vec::new();
        job.show_block(printer, |part| text.extend_from_slice(part));
        let text = String::from_utf8(text).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_live_view_shows_the_end_of_a_long_log() {
        let numbers = || (1..=1500).map(|number: u32| number.to_string());
        let end = shown(Extent::End, numbers());
        let head = [
            "(500 earlier lines are in the whole log)",
            "WARNING: careful",
        ];
        assert_eq!(end[..3], [head[0], head[1], "501"]);
        assert_eq!(end.last().unwrap(), "1500");
        assert_eq!(end.len(), 1002);
        assert_eq!(shown(Extent::Whole, numbers()).len(), 1501);
        assert_eq!(shown(Extent::End, numbers().take(1000)).len(), 1001);
    }

    #[test]
    fn the_live_view_cuts_long_lines() {
        let long = || {
            [
                "é".repeat(LONGEST_LINE),
                format!("{0}\r{0}", "x".repeat(3000)),
            ]
        };
        let end = shown(Extent::End, long());
        assert!(end[1].ends_with("éé (4096 more bytes)"), "{}", end[1]);
        assert_eq!(end[2], "x".repeat(3000));
        assert_eq!(shown(Extent::Whole, long())[1], long()[0]);
    }
}
