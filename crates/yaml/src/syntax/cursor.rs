use std::ops::Range;

/// A position in the text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The byte.
    pub(crate) offset: usize,
    /// The line, from 0.
    pub(crate) line: u32,
    /// The column in characters, from 0.
    pub(crate) column: u32,
}

/// Reads the bytes of a part of a text; after its end it returns zeros, which texts do not contain.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    text: &'t str,
    bytes: &'t [u8],
    offset: usize,
    line: u32,
    /// An offset on this line and its column, from which the next column is counted.
    counted: (usize, u32),
}

impl<'t> Cursor<'t> {
    /// Starts at the beginning of a part, as if it were the start of a line.
    pub(super) fn new(text: &'t str, part: Range<usize>, line: u32) -> Self {
        let text = &text[..part.end];
        Self {
            text,
            bytes: text.as_bytes(),
            offset: part.start,
            line,
            counted: (part.start, 0),
        }
    }

    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    pub(super) fn line(&self) -> u32 {
        self.line
    }

    /// Returns the column in characters, counting each byte once.
    pub(super) fn column(&mut self) -> u32 {
        let (from, column) = self.counted;
        if from != self.offset {
            let passed = &self.bytes[from..self.offset];
            let characters = passed.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
            let column = column.saturating_add(u32::try_from(characters).unwrap_or(u32::MAX));
            self.counted = (self.offset, column);
            return column;
        }
        column
    }

    pub(super) fn mark(&mut self) -> Mark {
        Mark {
            offset: self.offset,
            line: self.line,
            column: self.column(),
        }
    }

    pub(super) fn slice(&self, range: Range<usize>) -> &'t str {
        &self.text[range]
    }

    /// Returns the byte `ahead` of here.
    #[inline]
    pub(super) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.offset + ahead).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn is_at_end(&self) -> bool {
        self.offset >= self.bytes.len()
    }

    /// Skips bytes that contain no line break and end at a character boundary.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.offset += count;
    }

    /// Skips one character that is not a line break.
    pub(super) fn advance_character(&mut self) {
        self.offset += 1;
        while self.peek(0) & 0xc0 == 0x80 {
            self.offset += 1;
        }
    }

    /// Returns the length of the line break `ahead` of here; 0 when there is none.
    #[inline]
    pub(super) fn break_length(&self, ahead: usize) -> usize {
        match self.peek(ahead) {
            b'\r' if self.peek(ahead + 1) == b'\n' => 2,
            b'\n' | b'\r' => 1,
            0xc2 if self.peek(ahead + 1) == 0x85 => 2,
            0xe2 if self.peek(ahead + 1) == 0x80 && matches!(self.peek(ahead + 2), 0xa8 | 0xa9) => {
                3
            }
            _ => 0,
        }
    }

    #[inline]
    pub(super) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.peek(ahead), b' ' | b'\t')
    }

    /// Returns whether a blank, a line break or the end is `ahead` of here.
    #[inline]
    pub(super) fn is_blank_or_end(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            b' ' | b'\t' | b'\n' | b'\r' => true,
            0 => self.offset + ahead >= self.bytes.len(),
            0xc2 | 0xe2 => self.break_length(ahead) > 0,
            _ => false,
        }
    }

    /// Skips the line break here, if there is one, and returns its normalized form.
    pub(super) fn take_break(&mut self) -> Option<&'static str> {
        let length = self.break_length(0);
        let normalized = match (self.peek(0), length) {
            (_, 0) => return None,
            (0xe2, _) if self.peek(2) == 0xa8 => "\u{2028}",
            (0xe2, _) => "\u{2029}",
            _ => "\n",
        };
        self.offset += length;
        self.line += 1;
        self.counted = (self.offset, 0);
        Some(normalized)
    }

    /// Skips the rest of the line.
    pub(super) fn advance_to_break(&mut self) {
        loop {
            let rest = &self.bytes[self.offset..];
            let plain = rest
                .iter()
                .position(|byte| matches!(byte, b'\n' | b'\r' | 0xc2 | 0xe2));
            self.offset += plain.unwrap_or(rest.len());
            if self.is_at_end() || self.break_length(0) > 0 {
                return;
            }
            self.offset += 1;
            while self.peek(0) & 0xc0 == 0x80 {
                self.offset += 1;
            }
        }
    }

    /// Returns whether `---` or `...` starts this line.
    pub(super) fn is_at_document_indicator(&mut self) -> bool {
        let first = self.peek(0);
        matches!(first, b'-' | b'.')
            && self.peek(1) == first
            && self.peek(2) == first
            && self.is_blank_or_end(3)
            && self.column() == 0
    }
}
