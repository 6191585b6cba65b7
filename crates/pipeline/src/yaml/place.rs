use crate::source::{FileId, Span, clamp};
use saphyr_parser::Marker;

/// Turns the parser's places, which count characters, into byte offsets.
pub(super) struct Places<'t> {
    file: FileId,
    text: &'t str,
    /// A place known in both units; the next one is counted from here.
    known: (usize, usize),
}

impl<'t> Places<'t> {
    pub(super) fn new(file: FileId, text: &'t str) -> Self {
        Self {
            file,
            text,
            known: (0, 0),
        }
    }

    pub(super) fn span(&mut self, start: Marker, end: Marker) -> Span {
        Span {
            file: self.file,
            line: clamp(start.line()),
            column: clamp(start.col() + 1),
            start: clamp(self.offset(start.index())),
            end: clamp(self.offset(end.index())),
        }
    }

    /// Returns the line a span of this file starts in.
    pub(super) fn line(&self, span: Span) -> &'t str {
        let start = (span.start as usize).min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        self.text[line_start..].lines().next().unwrap_or_default()
    }

    fn offset(&mut self, index: usize) -> usize {
        let (character, byte) = self.known;
        let offset = if index >= character {
            let mut rest = self.text[byte..].char_indices();
            let ahead = rest.nth(index - character);
            ahead.map_or(self.text.len(), |(ahead, _)| byte + ahead)
        } else {
            let mut rest = self.text[..byte].char_indices().rev();
            rest.nth(character - index - 1).map_or(0, |(at, _)| at)
        };
        // Behind the end the two units cannot be related; the next place starts afresh.
        if offset < self.text.len() {
            self.known = (index, offset);
        }
        offset
    }
}
