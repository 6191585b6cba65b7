use super::syntax::Mark;
use crate::source::{FileId, Span, clamp};

/// Converts positions of the parser to spans of a file.
#[derive(Debug)]
pub(super) struct Positions {
    file: FileId,
    /// The line on which the part starts, and the number of characters before it on that line.
    first_line: u32,
    before: u32,
}

impl Positions {
    /// Returns the positions in a part of a text that starts at an offset.
    pub(super) fn new(file: FileId, text: &str, start: usize) -> Self {
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            file,
            first_line: clamp(memchr::memchr_iter(b'\n', before.as_bytes()).count()),
            before: clamp(before[line_start..].chars().count()),
        }
    }

    /// Returns the line on which the part starts, from 0.
    pub(super) fn first_line(&self) -> u32 {
        self.first_line
    }

    #[inline]
    pub(super) fn span(&self, start: Mark, end: usize) -> Span {
        let before = if start.line == self.first_line {
            self.before
        } else {
            0
        };
        Span {
            file: self.file,
            line: start.line.saturating_add(1),
            column: start.column.saturating_add(before).saturating_add(1),
            start: clamp(start.offset),
            end: clamp(end),
        }
    }
}
