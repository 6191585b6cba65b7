use super::cursor::Mark;
use super::error::SyntaxError;
use super::scanner::Scanner;
use super::token::{Token, TokenKind};
use std::borrow::Cow;

const TAG: &str = "while scanning a tag";
const DIRECTIVE: &str = "while scanning a directive";

impl<'t> Scanner<'t> {
    /// Reads `&anchor` or `*alias`.
    pub(super) fn scan_anchor(&mut self) -> Result<Token<'t>, SyntaxError> {
        let start = self.cursor.mark();
        let is_alias = self.cursor.peek(0) == b'*';
        self.cursor.advance(1);
        let name = self.skip_word_characters();
        let is_ended = self.cursor.is_blank_or_end(0)
            || matches!(
                self.cursor.peek(0),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if name.is_empty() || !is_ended {
            let problem = "did not find expected alphabetic or numeric character";
            let what = if is_alias {
                "while scanning an alias"
            } else {
                "while scanning an anchor"
            };
            return Err(SyntaxError::new(problem, self.cursor.mark()).during(what, start));
        }
        let kind = if is_alias {
            TokenKind::Alias(name)
        } else {
            TokenKind::Anchor(name)
        };
        let end = self.cursor.offset();
        Ok(Token { kind, start, end })
    }

    /// Reads a tag: `!name`, `!!name`, `!handle!name` or `!<name>`.
    pub(super) fn scan_tag(&mut self) -> Result<Token<'t>, SyntaxError> {
        let start = self.cursor.mark();
        let (handle, suffix) = if self.cursor.peek(1) == b'<' {
            self.cursor.advance(2);
            let suffix = self.scan_uri(true, true, start)?;
            if self.cursor.peek(0) != b'>' {
                let problem = "did not find the expected '>'";
                return Err(SyntaxError::new(problem, self.cursor.mark()).during(TAG, start));
            }
            self.cursor.advance(1);
            ("", suffix)
        } else {
            self.scan_short_tag(start)?
        };
        let is_ended =
            self.cursor.is_blank_or_end(0) || (self.is_in_flow() && self.cursor.peek(0) == b',');
        if !is_ended {
            let problem = "did not find expected whitespace or line break";
            return Err(SyntaxError::new(problem, self.cursor.mark()).during(TAG, start));
        }
        let end = self.cursor.offset();
        let kind = TokenKind::Tag { handle, suffix };
        Ok(Token { kind, start, end })
    }

    fn scan_short_tag(&mut self, start: Mark) -> Result<(&'t str, Cow<'t, str>), SyntaxError> {
        let begin = self.cursor.offset();
        self.cursor.advance(1);
        self.skip_word_characters();
        if self.cursor.peek(0) == b'!' {
            self.cursor.advance(1);
            let handle = self.cursor.slice(begin..self.cursor.offset());
            return Ok((handle, self.scan_uri(false, true, start)?));
        }
        // There was no handle; the skipped characters belong to the name.
        let skipped = self.cursor.slice(begin + 1..self.cursor.offset());
        let rest = self.scan_uri(false, false, start)?;
        let suffix = match rest {
            Cow::Borrowed(rest) => {
                let end = begin + 1 + skipped.len() + rest.len();
                Cow::Borrowed(self.cursor.slice(begin + 1..end))
            }
            Cow::Owned(rest) => Cow::Owned(skipped.to_owned() + &rest),
        };
        if suffix.is_empty() {
            return Ok(("", Cow::Borrowed("!")));
        }
        Ok(("!", suffix))
    }

    /// Reads the characters allowed in a tag; brackets and commas only if it is verbatim.
    fn scan_uri(
        &mut self,
        is_verbatim: bool,
        is_required: bool,
        start: Mark,
    ) -> Result<Cow<'t, str>, SyntaxError> {
        let begin = self.cursor.offset();
        let mut bytes: Option<Vec<u8>> = None;
        loop {
            let byte = self.cursor.peek(0);
            let fits = is_word_character(byte)
                || b";/?:@&=+$.%!~*'()".contains(&byte)
                || (is_verbatim && b",[]".contains(&byte));
            if !fits {
                break;
            }
            if byte == b'%' {
                let skipped = self.cursor.slice(begin..self.cursor.offset());
                let bytes = bytes.get_or_insert_with(|| skipped.as_bytes().to_vec());
                let digit = |at| char::from(self.cursor.peek(at)).to_digit(16);
                let (Some(high), Some(low)) = (digit(1), digit(2)) else {
                    let problem = "did not find URI escaped octet";
                    return Err(SyntaxError::new(problem, self.cursor.mark()).during(TAG, start));
                };
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
                self.cursor.advance(3);
                continue;
            }
            if let Some(bytes) = &mut bytes {
                bytes.push(byte);
            }
            self.cursor.advance(1);
        }
        if is_required && self.cursor.offset() == begin {
            let problem = "did not find expected tag URI";
            return Err(SyntaxError::new(problem, self.cursor.mark()).during(TAG, start));
        }
        let Some(bytes) = bytes else {
            return Ok(Cow::Borrowed(
                self.cursor.slice(begin..self.cursor.offset()),
            ));
        };
        String::from_utf8(bytes).map(Cow::Owned).map_err(|_| {
            let problem = "found an incorrect UTF-8 octet";
            SyntaxError::new(problem, start).during(TAG, start)
        })
    }

    /// Reads a line that starts with `%`.
    pub(super) fn scan_directive(&mut self) -> Result<Token<'t>, SyntaxError> {
        let start = self.cursor.mark();
        self.cursor.advance(1);
        let name = self.skip_word_characters();
        let refuse = |cursor: &mut Self, problem| {
            Err(SyntaxError::new(problem, cursor.cursor.mark()).during(DIRECTIVE, start))
        };
        if name.is_empty() || !self.cursor.is_blank_or_end(0) {
            return refuse(self, "could not find expected directive name");
        }
        self.skip_blanks();
        let kind = match name {
            "YAML" => {
                let begin = self.cursor.offset();
                while matches!(self.cursor.peek(0), b'0'..=b'9' | b'.') {
                    self.cursor.advance(1);
                }
                let version = self.cursor.slice(begin..self.cursor.offset());
                if !matches!(version, "1.1" | "1.2") {
                    return refuse(self, "found incompatible YAML document");
                }
                TokenKind::VersionDirective
            }
            "TAG" => self.scan_tag_directive(start)?,
            _ => return refuse(self, "found unknown directive name"),
        };
        let end = self.cursor.offset();
        self.skip_blanks();
        if self.cursor.peek(0) == b'#' {
            self.cursor.advance_to_break();
        }
        if self.cursor.take_break().is_none() && !self.cursor.is_at_end() {
            return refuse(self, "did not find expected comment or line break");
        }
        Ok(Token { kind, start, end })
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Result<TokenKind<'t>, SyntaxError> {
        let refuse = |scanner: &mut Self, problem| {
            Err(SyntaxError::new(problem, scanner.cursor.mark()).during(DIRECTIVE, start))
        };
        let begin = self.cursor.offset();
        if self.cursor.peek(0) != b'!' {
            return refuse(self, "did not find expected '!'");
        }
        self.cursor.advance(1);
        let name = self.skip_word_characters();
        if self.cursor.peek(0) == b'!' {
            self.cursor.advance(1);
        } else if !name.is_empty() {
            return refuse(self, "did not find expected '!'");
        }
        let handle = self.cursor.slice(begin..self.cursor.offset());
        if !self.cursor.is_blank(0) {
            return refuse(self, "did not find expected whitespace");
        }
        self.skip_blanks();
        let prefix = self.scan_uri(true, true, start)?;
        if !self.cursor.is_blank_or_end(0) {
            return refuse(self, "did not find expected whitespace or line break");
        }
        Ok(TokenKind::TagDirective { handle, prefix })
    }

    fn skip_blanks(&mut self) {
        while self.cursor.is_blank(0) {
            self.cursor.advance(1);
        }
    }

    fn skip_word_characters(&mut self) -> &'t str {
        let begin = self.cursor.offset();
        while is_word_character(self.cursor.peek(0)) {
            self.cursor.advance(1);
        }
        self.cursor.slice(begin..self.cursor.offset())
    }
}

fn is_word_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
