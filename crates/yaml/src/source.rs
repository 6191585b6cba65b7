//! The texts of a pipeline, and locations in them.

use std::ops::Range;
use std::sync::Arc;

/// Identifies a file of a [`SourceMap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId(u16);

impl FileId {
    /// Returns its index in its map.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A range of text in one of the files of a pipeline, with the location of its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// The line of its first character, from 1.
    pub line: u32,
    /// The column of its first character, in characters from 1.
    pub column: u32,
    /// The offset of its first byte.
    pub start: u32,
    /// The offset after its last byte.
    pub end: u32,
}

/// A value with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// The location.
    pub span: Span,
}

impl Span {
    /// Returns the range in bytes.
    pub fn bytes(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the span of the character at the byte `offset` of `file`, whose text is `text`.
    pub fn of_offset(file: FileId, text: &str, offset: usize) -> Self {
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.bytes().filter(|&byte| byte == b'\n').count();
        let width = text[offset..].chars().next().map_or(0, char::len_utf8);
        Self {
            file,
            line: clamp(line + 1),
            column: clamp(before[line_start..].chars().count() + 1),
            start: clamp(offset),
            end: clamp(offset + width),
        }
    }
}

/// Converts a count to the type of a span's fields, whose range far exceeds the size of texts.
pub fn clamp(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A text with the name that users know.
#[derive(Debug, Clone)]
pub struct SourceFile {
    name: String,
    text: Arc<str>,
    included_at: Option<Span>,
    is_private: bool,
}

impl SourceFile {
    /// Returns the name, usually a path relative to the project.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text, without a byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the location of the file's first include; nothing for a file that was not included.
    pub fn included_at(&self) -> Option<Span> {
        self.included_at
    }

    /// Returns whether its lines must not be shown, because they may contain secrets.
    pub fn is_private(&self) -> bool {
        self.is_private
    }

    /// Returns the start of the line with the byte at `offset`, and the line without its line
    /// break.
    pub fn line_around(&self, offset: usize) -> (usize, &str) {
        let is_break = |byte: u8| byte == b'\n' || byte == b'\r';
        let bytes = self.text.as_bytes();
        let offset = offset.min(bytes.len());
        let start = bytes[..offset].iter().rposition(|&byte| is_break(byte));
        let start = start.map_or(0, |at| at + 1);
        let length = bytes[start..].iter().position(|&byte| is_break(byte));
        let end = length.map_or(bytes.len(), |length| start + length);
        (start, &self.text[start..end])
    }
}

/// All texts of one pipeline. A clone shares them.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// Adds a text and returns its id.
    ///
    /// # Panics
    ///
    /// Panics on more than 65,535 files; the limit on includes is far lower.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let id = u16::try_from(self.files.len()).expect("includes are limited to 150 files");
        let mut text: Arc<str> = text.into();
        if let Some(rest) = text.strip_prefix('\u{feff}') {
            text = rest.into();
        }
        self.files.push(SourceFile {
            name: name.into(),
            text,
            included_at: None,
            is_private: false,
        });
        FileId(id)
    }

    /// Adds a text whose lines are never shown.
    pub fn add_private(&mut self, name: &str, text: &str) -> FileId {
        let id = self.add(name, text);
        self.files[usize::from(id.0)].is_private = true;
        id
    }

    /// Adds the text of an included file.
    pub fn add_included(
        &mut self,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
        included_at: Span,
    ) -> FileId {
        let id = self.add(name, text);
        self.files[usize::from(id.0)].included_at = Some(included_at);
        id
    }

    /// Returns the texts in reading order, the pipeline file first.
    pub fn iter(&self) -> std::slice::Iter<'_, SourceFile> {
        self.files.iter()
    }

    /// Returns the chain of includes that added a file, the nearest first.
    pub fn includes_of(&self, id: FileId) -> impl Iterator<Item = Span> + '_ {
        let of = |id: FileId| self.file(id).included_at;
        std::iter::successors(of(id), move |at| of(at.file))
    }

    /// Returns the line and column after the last character of a span, ignoring white space at its
    /// end, which block values of YAML have.
    pub fn end_of(&self, span: Span) -> (u32, u32) {
        let text = self.file(span.file).text();
        let start = text.floor_char_boundary(span.start as usize);
        let end = text.floor_char_boundary(span.end as usize).max(start);
        let covered = text[start..end].trim_end();
        match covered.rfind('\n') {
            None => (span.line, span.column + clamp(covered.chars().count())),
            Some(newline) => {
                let lines = covered.bytes().filter(|&byte| byte == b'\n').count();
                let columns = covered[newline + 1..].chars().count();
                (span.line + clamp(lines), clamp(columns + 1))
            }
        }
    }

    /// Returns a file of this map.
    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[usize::from(id.0)]
    }
}

impl<'a> IntoIterator for &'a SourceMap {
    type Item = &'a SourceFile;
    type IntoIter = std::slice::Iter<'a, SourceFile>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_any_kind_of_line_break() {
        let mut sources = SourceMap::default();
        let id = sources.add("f", "\u{feff}one\r\ntwo\rthree");
        let file = sources.file(id);
        assert_eq!(file.line_around(0), (0, "one"));
        assert_eq!(file.line_around(6), (5, "two"));
        assert_eq!(file.line_around(999), (9, "three"));
    }

    #[test]
    fn an_offset_has_a_line_and_a_column_in_characters() {
        let mut sources = SourceMap::default();
        let id = sources.add("f", "a\nüü\0");
        let span = Span::of_offset(id, "a\nüü\0", 6);
        assert_eq!((span.line, span.column, span.start, span.end), (2, 3, 6, 7));
    }

    #[test]
    fn the_end_of_a_span_ignores_white_space() {
        let mut sources = SourceMap::default();
        let text = "a: üü\nb:\n  c: ü\n  \nd: 1\n";
        let file = sources.add("f", text);
        let span = |part: &str| {
            let start = text.find(part).unwrap();
            let end = clamp(start + part.len());
            Span {
                end,
                ..Span::of_offset(file, text, start)
            }
        };
        assert_eq!(sources.end_of(span("üü")), (1, 6));
        assert_eq!(sources.end_of(span("b:\n  c: ü\n  \n")), (3, 7));
        assert_eq!(sources.end_of(span("")), (1, 1));
    }
}
