use super::error::SyntaxError;
use super::fold::Folded;
use super::scanner::Scanner;
use super::token::{Token, TokenKind};

const CONTEXT: &str = "while scanning a plain scalar";

impl<'t> Scanner<'t> {
    /// Reads an unquoted scalar, which may continue on lines that are indented further.
    pub(super) fn scan_plain(&mut self) -> Result<Token<'t>, SyntaxError> {
        let start = self.cursor.mark();
        let indent = self.indent + 1;
        let is_in_flow = self.is_in_flow();
        let mut folded = Folded::new();
        let mut piece = start.offset;
        let mut end = start.offset;
        let mut is_after_break = false;
        loop {
            if self.cursor.is_at_document_indicator() || self.cursor.peek(0) == b'#' {
                break;
            }
            let word = self.cursor.offset();
            self.skip_word(is_in_flow)
                .map_err(|error| error.during(CONTEXT, start))?;
            if self.cursor.offset() > word {
                if is_after_break {
                    folded.join(false);
                    piece = word;
                    is_after_break = false;
                }
                end = self.cursor.offset();
            }
            if !self.cursor.is_blank(0) && self.cursor.break_length(0) == 0 {
                break;
            }
            loop {
                if self.cursor.is_blank(0) {
                    if is_after_break
                        && self.cursor.peek(0) == b'\t'
                        && i64::from(self.cursor.column()) < indent
                    {
                        let problem = "found a tab character that violates indentation";
                        let error = SyntaxError::new(problem, self.cursor.mark());
                        return Err(error.during(CONTEXT, start));
                    }
                    self.cursor.advance(1);
                } else if let Some(line_break) = self.cursor.take_break() {
                    if !is_after_break {
                        folded.push(self.cursor.slice(piece..end));
                        is_after_break = true;
                    }
                    folded.record_break(line_break);
                } else {
                    break;
                }
            }
            if !is_in_flow && i64::from(self.cursor.column()) < indent {
                break;
            }
        }
        if is_after_break {
            self.is_key_allowed = true;
        } else {
            folded.push(self.cursor.slice(piece..end));
        }
        Ok(Token {
            kind: TokenKind::Scalar {
                text: folded.into_text(),
                is_plain: true,
            },
            start,
            end,
        })
    }

    /// Skips to the next blank or to an indicator that ends the text.
    fn skip_word(&mut self, is_in_flow: bool) -> Result<(), SyntaxError> {
        loop {
            match self.cursor.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' => return Ok(()),
                b':' if self.cursor.is_blank_or_end(1) => return Ok(()),
                b':' if is_in_flow
                    && matches!(self.cursor.peek(1), b',' | b'?' | b'[' | b']' | b'{' | b'}') =>
                {
                    return Err(SyntaxError::new("found unexpected ':'", self.cursor.mark()));
                }
                b',' | b'[' | b']' | b'{' | b'}' if is_in_flow => return Ok(()),
                0 | 0xc2 | 0xe2 if self.cursor.is_blank_or_end(0) => return Ok(()),
                byte if byte < 0x80 => self.cursor.advance(1),
                _ => self.cursor.advance_character(),
            }
        }
    }
}
