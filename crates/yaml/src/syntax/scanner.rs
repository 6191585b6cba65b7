use super::cursor::{Cursor, Mark};
use super::error::SyntaxError;
use super::simple_key::SimpleKey;
use super::token::{Token, TokenKind};
use std::collections::VecDeque;
use std::ops::Range;

/// Splits a text into tokens.
#[derive(Debug)]
pub(super) struct Scanner<'t> {
    pub(super) cursor: Cursor<'t>,
    tokens: VecDeque<Token<'t>>,
    /// The number of tokens taken so far.
    taken: usize,
    /// The column of the innermost block; -1 outside of blocks.
    pub(super) indent: i64,
    indents: Vec<i64>,
    /// The possible keys: one for the blocks, and one for each open bracket or brace.
    keys: Vec<SimpleKey>,
    pub(super) is_key_allowed: bool,
    is_ended: bool,
}

type Scanned = Result<(), SyntaxError>;

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, part: Range<usize>, line: u32) -> Self {
        Self {
            cursor: Cursor::new(text, part, line),
            tokens: VecDeque::new(),
            taken: 0,
            indent: -1,
            indents: Vec::new(),
            keys: vec![SimpleKey::default()],
            is_key_allowed: true,
            is_ended: false,
        }
    }

    /// Returns the next token; at the end always [`TokenKind::StreamEnd`].
    pub(super) fn peek(&mut self) -> Result<&Token<'t>, SyntaxError> {
        self.fill()?;
        Ok(self.tokens.front().expect("filled just before"))
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Result<Token<'t>, SyntaxError> {
        self.fill()?;
        self.taken += 1;
        Ok(self.tokens.pop_front().expect("filled just before"))
    }

    pub(super) fn is_in_flow(&self) -> bool {
        self.keys.len() > 1
    }

    /// Scans until the next token is certain.
    fn fill(&mut self) -> Scanned {
        while self.tokens.is_empty() || self.may_insert_first()? {
            self.fetch()?;
        }
        Ok(())
    }

    fn may_insert_first(&mut self) -> Result<bool, SyntaxError> {
        self.expire_keys()?;
        let taken = self.taken;
        Ok(self
            .keys
            .iter()
            .any(|key| key.is_possible && key.token == taken))
    }

    fn expire_keys(&mut self) -> Scanned {
        let (offset, line) = (self.cursor.offset(), self.cursor.line());
        self.keys
            .iter_mut()
            .try_for_each(|key| key.expire(offset, line))
    }

    fn fetch(&mut self) -> Scanned {
        self.skip_space();
        self.expire_keys()?;
        let column = i64::from(self.cursor.column());
        self.close_blocks(column);
        if self.cursor.is_at_end() {
            return self.fetch_end();
        }
        let first = self.cursor.peek(0);
        if column == 0 {
            if first == b'%' {
                return self.fetch_directive();
            }
            if self.cursor.is_at_document_indicator() {
                let kind = if first == b'-' {
                    TokenKind::DocumentStart
                } else {
                    TokenKind::DocumentEnd
                };
                self.close_blocks(-1);
                self.discard_key()?;
                self.is_key_allowed = false;
                self.push_indicator(kind, 3);
                return Ok(());
            }
        }
        let is_in_flow = self.is_in_flow();
        match first {
            b'[' => {
                self.fetch_flow_start(TokenKind::FlowSequenceStart);
                Ok(())
            }
            b'{' => {
                self.fetch_flow_start(TokenKind::FlowMappingStart);
                Ok(())
            }
            b']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            b',' => {
                self.discard_key()?;
                self.is_key_allowed = true;
                self.push_indicator(TokenKind::FlowEntry, 1);
                Ok(())
            }
            b'-' if self.cursor.is_blank_or_end(1) => self.fetch_block_entry(column),
            b'?' if is_in_flow || self.cursor.is_blank_or_end(1) => self.fetch_key(column),
            b':' if is_in_flow || self.cursor.is_blank_or_end(1) => self.fetch_value(column),
            b'*' | b'&' => {
                self.save_key();
                self.is_key_allowed = false;
                self.scan_anchor().map(|token| self.tokens.push_back(token))
            }
            b'!' => {
                self.save_key();
                self.is_key_allowed = false;
                self.scan_tag().map(|token| self.tokens.push_back(token))
            }
            b'|' | b'>' if !is_in_flow => {
                self.discard_key()?;
                self.is_key_allowed = true;
                self.scan_block_scalar()
                    .map(|token| self.tokens.push_back(token))
            }
            b'\'' | b'"' => {
                self.save_key();
                self.is_key_allowed = false;
                self.scan_quoted().map(|token| self.tokens.push_back(token))
            }
            b'-' if !self.cursor.is_blank(1) => self.fetch_plain(),
            b'?' | b':' if !is_in_flow => self.fetch_plain(),
            b'-' | b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' => {
                let problem = "found character that cannot start any token";
                let mark = self.cursor.mark();
                Err(SyntaxError::new(problem, mark)
                    .during("while scanning for the next token", mark))
            }
            _ => self.fetch_plain(),
        }
    }

    /// Skips blanks, comments and line breaks before the next token.
    fn skip_space(&mut self) {
        loop {
            let tabs = self.is_in_flow() || !self.is_key_allowed;
            while self.cursor.peek(0) == b' ' || (tabs && self.cursor.peek(0) == b'\t') {
                self.cursor.advance(1);
            }
            if self.cursor.peek(0) == b'#' {
                self.cursor.advance_to_break();
            }
            if self.cursor.take_break().is_none() {
                return;
            }
            if !self.is_in_flow() {
                self.is_key_allowed = true;
            }
        }
    }

    fn fetch_end(&mut self) -> Scanned {
        self.close_blocks(-1);
        if !self.is_ended {
            self.discard_key()?;
            // No colon can follow, also not for keys in open brackets.
            self.keys.iter_mut().try_for_each(SimpleKey::discard)?;
            self.is_key_allowed = false;
            self.is_ended = true;
        }
        self.push_indicator(TokenKind::StreamEnd, 0);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Scanned {
        self.close_blocks(-1);
        self.discard_key()?;
        self.is_key_allowed = false;
        let token = self.scan_directive()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'t>) {
        self.save_key();
        self.keys.push(SimpleKey::default());
        self.is_key_allowed = true;
        self.push_indicator(kind, 1);
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'t>) -> Scanned {
        self.discard_key()?;
        if self.is_in_flow() {
            self.keys.pop();
        }
        self.is_key_allowed = false;
        self.push_indicator(kind, 1);
        Ok(())
    }

    fn fetch_block_entry(&mut self, column: i64) -> Scanned {
        if !self.is_in_flow() {
            self.check_allowed("block sequence entries are not allowed in this context")?;
            let mark = self.cursor.mark();
            self.open_block(column, None, TokenKind::BlockSequenceStart, mark);
        }
        self.discard_key()?;
        self.is_key_allowed = true;
        self.push_indicator(TokenKind::BlockEntry, 1);
        Ok(())
    }

    fn fetch_key(&mut self, column: i64) -> Scanned {
        if !self.is_in_flow() {
            self.check_allowed("mapping keys are not allowed in this context")?;
            let mark = self.cursor.mark();
            self.open_block(column, None, TokenKind::BlockMappingStart, mark);
        }
        self.discard_key()?;
        self.is_key_allowed = !self.is_in_flow();
        self.push_indicator(TokenKind::Key, 1);
        Ok(())
    }

    fn fetch_value(&mut self, column: i64) -> Scanned {
        let key = *self.key();
        if key.is_possible {
            self.key().is_possible = false;
            let token = Token {
                kind: TokenKind::Key,
                start: key.mark,
                end: key.mark.offset,
            };
            self.tokens.insert(key.token - self.taken, token);
            let column = i64::from(key.mark.column);
            self.open_block(
                column,
                Some(key.token),
                TokenKind::BlockMappingStart,
                key.mark,
            );
            self.is_key_allowed = false;
        } else {
            if !self.is_in_flow() {
                self.check_allowed("mapping values are not allowed in this context")?;
                let mark = self.cursor.mark();
                self.open_block(column, None, TokenKind::BlockMappingStart, mark);
            }
            self.is_key_allowed = !self.is_in_flow();
        }
        self.push_indicator(TokenKind::Value, 1);
        Ok(())
    }

    fn fetch_plain(&mut self) -> Scanned {
        self.save_key();
        self.is_key_allowed = false;
        let token = self.scan_plain()?;
        self.tokens.push_back(token);
        Ok(())
    }

    fn check_allowed(&mut self, problem: &'static str) -> Scanned {
        if self.is_key_allowed {
            return Ok(());
        }
        Err(SyntaxError::new(problem, self.cursor.mark()))
    }

    /// Adds a token of `length` bytes.
    fn push_indicator(&mut self, kind: TokenKind<'t>, length: usize) {
        let start = self.cursor.mark();
        self.cursor.advance(length);
        let end = self.cursor.offset();
        self.tokens.push_back(Token { kind, start, end });
    }

    fn key(&mut self) -> &mut SimpleKey {
        self.keys
            .last_mut()
            .expect("the key of the blocks is never removed")
    }

    /// Records that the next token may start a key.
    fn save_key(&mut self) {
        if !self.is_key_allowed {
            return;
        }
        let mark = self.cursor.mark();
        let is_required = !self.is_in_flow() && self.indent == i64::from(mark.column);
        let token = self.taken + self.tokens.len();
        *self.key() = SimpleKey::new(is_required, token, mark);
    }

    fn discard_key(&mut self) -> Scanned {
        self.key().discard()
    }

    /// Opens a block at a column further right; inserts its token before the one with the given
    /// number.
    fn open_block(&mut self, column: i64, before: Option<usize>, kind: TokenKind<'t>, start: Mark) {
        if self.is_in_flow() || self.indent >= column {
            return;
        }
        self.indents.push(self.indent);
        self.indent = column;
        let end = start.offset;
        let token = Token { kind, start, end };
        match before {
            Some(number) => self.tokens.insert(number - self.taken, token),
            None => self.tokens.push_back(token),
        }
    }

    /// Closes the blocks to the right of a column.
    fn close_blocks(&mut self, column: i64) {
        if self.is_in_flow() {
            return;
        }
        while self.indent > column {
            self.push_indicator(TokenKind::BlockEnd, 0);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }
}
