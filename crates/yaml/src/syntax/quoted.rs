use super::cursor::Mark;
use super::error::SyntaxError;
use super::fold::Folded;
use super::scanner::Scanner;
use super::token::{Token, TokenKind};

const CONTEXT: &str = "while scanning a quoted scalar";

/// The gap between two words.
enum Gap {
    None,
    Break,
    EscapedBreak,
}

impl<'t> Scanner<'t> {
    /// Reads a scalar in single or double quotes.
    pub(super) fn scan_quoted(&mut self) -> Result<Token<'t>, SyntaxError> {
        let start = self.cursor.mark();
        let quote = self.cursor.peek(0);
        self.cursor.advance(1);
        let mut folded = Folded::new();
        loop {
            self.check_not_at_end(start)?;
            let is_escaped = self.scan_words(quote, &mut folded, start)?;
            if self.cursor.peek(0) == quote {
                break;
            }
            match self.scan_gap(is_escaped, &mut folded) {
                Gap::None => {}
                Gap::Break => folded.join(false),
                Gap::EscapedBreak => folded.join(true),
            }
        }
        self.cursor.advance(1);
        Ok(Token {
            kind: TokenKind::Scalar {
                text: folded.into_text(),
                is_plain: false,
            },
            start,
            end: self.cursor.offset(),
        })
    }

    fn check_not_at_end(&mut self, start: Mark) -> Result<(), SyntaxError> {
        let problem = if self.cursor.is_at_document_indicator() {
            "found unexpected document indicator"
        } else if self.cursor.is_at_end() {
            "found unexpected end of stream"
        } else {
            return Ok(());
        };
        Err(SyntaxError::new(problem, self.cursor.mark()).during(CONTEXT, start))
    }

    /// Reads up to a line break or the closing quote; returns whether it stopped at an escaped line
    /// break.
    fn scan_words(
        &mut self,
        quote: u8,
        folded: &mut Folded<'t>,
        start: Mark,
    ) -> Result<bool, SyntaxError> {
        let mut piece = self.cursor.offset();
        loop {
            let here = self.cursor.offset();
            match self.cursor.peek(0) {
                b'\'' if quote == b'\'' && self.cursor.peek(1) == b'\'' => {
                    folded.push(self.cursor.slice(piece..here + 1));
                    self.cursor.advance(2);
                    piece = here + 2;
                }
                byte if byte == quote => break,
                b'\\' if quote == b'"' => {
                    folded.push(self.cursor.slice(piece..here));
                    self.cursor.advance(1);
                    if self.cursor.take_break().is_some() {
                        return Ok(true);
                    }
                    let character = self.scan_escape(start)?;
                    folded.push_character(character);
                    piece = self.cursor.offset();
                }
                // Blanks belong to the text unless followed by a line break.
                b' ' | b'\t' => {
                    let mut blanks = 1;
                    while self.cursor.is_blank(blanks) {
                        blanks += 1;
                    }
                    if self.cursor.break_length(blanks) > 0 {
                        break;
                    }
                    self.cursor.advance(blanks);
                }
                b'\n' | b'\r' => break,
                0 | 0xc2 | 0xe2 if self.cursor.is_blank_or_end(0) => break,
                byte if byte < 0x80 => self.cursor.advance(1),
                _ => self.cursor.advance_character(),
            }
        }
        folded.push(self.cursor.slice(piece..self.cursor.offset()));
        Ok(false)
    }

    /// Skips blanks and line breaks.
    fn scan_gap(&mut self, is_escaped: bool, folded: &mut Folded<'t>) -> Gap {
        if is_escaped {
            folded.record_escaped_break();
        }
        let mut gap = if is_escaped {
            Gap::EscapedBreak
        } else {
            Gap::None
        };
        loop {
            if self.cursor.is_blank(0) {
                self.cursor.advance(1);
            } else if let Some(line_break) = self.cursor.take_break() {
                if matches!(gap, Gap::None) {
                    gap = Gap::Break;
                }
                folded.record_break(line_break);
            } else {
                return gap;
            }
        }
    }

    /// Reads an escape after its backslash.
    fn scan_escape(&mut self, start: Mark) -> Result<char, SyntaxError> {
        let error = |problem, mark| {
            Err(SyntaxError::new(problem, mark).during("while parsing a quoted scalar", start))
        };
        let digits = match self.cursor.peek(0) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            sign => {
                let Some(character) = escaped(sign) else {
                    return error("found unknown escape character", self.cursor.mark());
                };
                self.cursor.advance(1);
                return Ok(character);
            }
        };
        self.cursor.advance(1);
        let mut value: u32 = 0;
        for at in 0..digits {
            let Some(digit) = char::from(self.cursor.peek(at)).to_digit(16) else {
                let problem = "did not find expected hexdecimal number";
                return error(problem, self.cursor.mark());
            };
            value = value.wrapping_mul(16).wrapping_add(digit);
        }
        let Some(character) = char::from_u32(value) else {
            let problem = "found invalid Unicode character escape code";
            return error(problem, self.cursor.mark());
        };
        self.cursor.advance(digits);
        Ok(character)
    }
}

fn escaped(sign: u8) -> Option<char> {
    Some(match sign {
        b'0' => '\0',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\u{b}',
        b'f' => '\u{c}',
        b'r' => '\r',
        b'e' => '\u{1b}',
        b' ' => ' ',
        b'"' => '"',
        b'/' => '/',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
