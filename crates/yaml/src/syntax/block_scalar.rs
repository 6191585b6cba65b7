use super::cursor::Mark;
use super::error::SyntaxError;
use super::scanner::Scanner;
use super::token::{Token, TokenKind};
use std::borrow::Cow;

const CONTEXT: &str = "while scanning a block scalar";

/// The treatment of line breaks at the end.
#[derive(Clone, Copy, PartialEq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl<'t> Scanner<'t> {
    /// Reads a block scalar after `|` or `>`.
    pub(super) fn scan_block_scalar(&mut self) -> Result<Token<'t>, SyntaxError> {
        let start = self.cursor.mark();
        let is_folded = self.cursor.peek(0) == b'>';
        self.cursor.advance(1);
        let (chomping, increment, header_end) = self.scan_header(start)?;
        let mut indent = increment.map_or(0, |by| self.indent.max(0) + by);
        let mut end = header_end;

        let mut text = String::new();
        let mut leading = "";
        let mut trailing = String::new();
        let mut was_blank = false;
        self.scan_breaks(&mut indent, &mut trailing, start)?;
        while i64::from(self.cursor.column()) == indent && !self.cursor.is_at_end() {
            let is_blank = self.cursor.is_blank(0);
            if is_folded && leading.starts_with('\n') && !was_blank && !is_blank {
                if trailing.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(leading);
            }
            text.push_str(&trailing);
            trailing.clear();
            was_blank = is_blank;

            let line = self.cursor.offset();
            self.cursor.advance_to_break();
            text.push_str(self.cursor.slice(line..self.cursor.offset()));
            end = self.cursor.offset();
            leading = self.cursor.take_break().unwrap_or_default();
            self.scan_breaks(&mut indent, &mut trailing, start)?;
        }
        if chomping != Chomping::Strip {
            text.push_str(leading);
        }
        if chomping == Chomping::Keep {
            text.push_str(&trailing);
        }
        Ok(Token {
            kind: TokenKind::Scalar {
                text: Cow::Owned(text),
                is_plain: false,
            },
            start,
            end,
        })
    }

    /// Reads the rest of the header line.
    fn scan_header(&mut self, start: Mark) -> Result<(Chomping, Option<i64>, usize), SyntaxError> {
        let mut chomping = Chomping::Clip;
        let mut increment = None;
        let mut has_chomping = false;
        for _ in 0..2 {
            match self.cursor.peek(0) {
                sign @ (b'+' | b'-') if !has_chomping => {
                    has_chomping = true;
                    chomping = if sign == b'+' {
                        Chomping::Keep
                    } else {
                        Chomping::Strip
                    };
                    self.cursor.advance(1);
                }
                digit @ b'0'..=b'9' if increment.is_none() => {
                    if digit == b'0' {
                        let problem = "found an indentation indicator equal to 0";
                        let error = SyntaxError::new(problem, self.cursor.mark());
                        return Err(error.during(CONTEXT, start));
                    }
                    increment = Some(i64::from(digit - b'0'));
                    self.cursor.advance(1);
                }
                _ => break,
            }
        }
        let end = self.cursor.offset();
        while self.cursor.is_blank(0) {
            self.cursor.advance(1);
        }
        if self.cursor.peek(0) == b'#' {
            self.cursor.advance_to_break();
        }
        if self.cursor.take_break().is_none() && !self.cursor.is_at_end() {
            let problem = "did not find expected comment or line break";
            let error = SyntaxError::new(problem, self.cursor.mark());
            return Err(error.during(CONTEXT, start));
        }
        Ok((chomping, increment, end))
    }

    /// Skips indentation and empty lines; detects the indentation if the header does not specify
    /// it.
    fn scan_breaks(
        &mut self,
        indent: &mut i64,
        breaks: &mut String,
        start: Mark,
    ) -> Result<(), SyntaxError> {
        let mut deepest = 0;
        loop {
            let is_indentation = |column: i64| *indent == 0 || column < *indent;
            let mut column = i64::from(self.cursor.column());
            while is_indentation(column) && self.cursor.peek(0) == b' ' {
                self.cursor.advance(1);
                column += 1;
            }
            deepest = deepest.max(column);
            if is_indentation(column) && self.cursor.peek(0) == b'\t' {
                let problem = "found a tab character where an indentation space is expected";
                let error = SyntaxError::new(problem, self.cursor.mark());
                return Err(error.during(CONTEXT, start));
            }
            let Some(line_break) = self.cursor.take_break() else {
                break;
            };
            breaks.push_str(line_break);
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}
