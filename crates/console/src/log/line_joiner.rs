//! Joins the pieces of lines that events carry.

use super::entry::{Source, source_of};
use scheduler::event::EventKind;
use std::borrow::Cow;

/// A longer line is emitted in parts.
const LONGEST: usize = 64 << 10;

/// Of a longer line that overwrites itself, only the last state is kept.
const OVERWRITTEN: usize = 4 << 10;

/// Joins the pieces of lines, for one job.
#[derive(Debug, Default)]
pub(crate) struct LineJoiner {
    /// The lines that have not ended, at most one of each source.
    open: Vec<(Source, String)>,
}

/// A piece of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'t> {
    pub(crate) source: Source,
    pub(crate) text: &'t str,
    /// Whether it continues the last piece of its source.
    pub(crate) continues: bool,
    /// Whether more may follow.
    pub(crate) open: bool,
}

impl<'t> Piece<'t> {
    /// Returns the piece that an event carries, if any.
    pub(crate) fn of(event: &'t EventKind) -> Option<Self> {
        match event {
            EventKind::JobLog {
                stream,
                line,
                cont,
                open,
                level,
                ..
            } => Some(Self {
                source: source_of(*stream, *level),
                text: line,
                continues: *cont,
                open: *open,
            }),
            _ => None,
        }
    }
}

impl LineJoiner {
    /// Takes a piece and emits the lines that it ends.
    pub(crate) fn take(&mut self, piece: Piece<'_>, emit: &mut impl FnMut(Source, &str)) {
        let at = self.open.iter().position(|(from, _)| *from == piece.source);
        let mut line = match at.map(|at| self.open.swap_remove(at).1) {
            Some(line) if piece.continues => Cow::Owned(line + piece.text),
            Some(line) => {
                emit(piece.source, &line);
                Cow::Borrowed(piece.text)
            }
            None => Cow::Borrowed(piece.text),
        };
        if !piece.open || line.len() > LONGEST {
            emit(piece.source, &line);
            return;
        }
        if line.len() > OVERWRITTEN
            && let Some(last) = line.trim_end_matches('\r').rfind('\r')
        {
            line.to_mut().drain(..=last);
        }
        self.open.push((piece.source, line.into_owned()));
    }

    /// Emits the lines that have not ended.
    pub(crate) fn finish(&mut self, emit: &mut impl FnMut(Source, &str)) {
        for (source, line) in self.open.drain(..) {
            emit(source, &line);
        }
    }

    /// Returns the line of a source that has not ended.
    pub(crate) fn unfinished(&self, source: Source) -> Option<&str> {
        let found = self.open.iter().find(|(from, _)| *from == source);
        found.map(|(_, line)| line.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(pieces: &[(Source, &str, bool, bool)]) -> Vec<String> {
        let mut found = Vec::new();
        let mut emit = |_, line: &str| found.push(line.to_owned());
        let mut lines = LineJoiner::default();
        for &(source, text, continues, open) in pieces {
            let piece = Piece {
                source,
                text,
                continues,
                open,
            };
            lines.take(piece, &mut emit);
        }
        lines.finish(&mut emit);
        found
    }

    #[test]
    fn pieces_become_lines_by_source() {
        use Source::{Stderr, Stdout};
        let lines = join(&[
            (Stdout, "..", false, true),
            (Stderr, "warning", false, false),
            (Stdout, "..", true, true),
            (Stdout, " ok", true, false),
            (Stdout, "dots..", false, true),
            (Stdout, "next line", false, false),
            (Stderr, "last words", false, true),
        ]);
        let expect = ["warning", ".... ok", "dots..", "next line", "last words"];
        assert_eq!(lines, expect);
    }

    #[test]
    fn an_unended_line_stays_bounded() {
        let bar = format!("\r{}", "x".repeat(1000));
        let mut lines = LineJoiner::default();
        for number in 0..1000 {
            let piece = Piece {
                source: Source::Stdout,
                text: &bar,
                continues: number > 0,
                open: true,
            };
            lines.take(piece, &mut |_, line| panic!("{} bytes", line.len()));
        }
        assert!(lines.unfinished(Source::Stdout).unwrap().len() <= OVERWRITTEN + 1001);
        let long = "y".repeat(40_000);
        let piece = (Source::Stdout, long.as_str(), true, true);
        let parts = join(&[piece; 10]);
        assert!(parts.iter().all(|part| part.len() <= LONGEST + 40_000));
        assert_eq!(parts.concat().len(), 400_000);
    }
}
