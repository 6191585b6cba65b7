use super::cursor::Mark;
use super::error::SyntaxError;
use super::scanner::Scanner;
use super::token::{Token, TokenKind};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// A parsing event.
#[derive(Debug, Clone)]
pub(crate) struct Event<'t> {
    pub(crate) kind: EventKind<'t>,
    /// The name after `&`.
    pub(crate) anchor: Option<&'t str>,
    pub(crate) tag: Option<Tag<'t>>,
    pub(crate) start: Mark,
    /// The offset after it; for a list or mapping, after its opening token.
    pub(crate) end: usize,
}

/// The kinds of events.
#[derive(Debug, Clone)]
pub(crate) enum EventKind<'t> {
    Alias(&'t str),
    Scalar {
        text: Cow<'t, str>,
        is_plain: bool,
    },
    SequenceStart,
    MappingStart,
    /// The end of the innermost list or mapping.
    End,
    /// The end of the document.
    DocumentEnd,
}

/// A tag with its handle resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag<'t> {
    pub(crate) prefix: Cow<'t, str>,
    pub(crate) suffix: Cow<'t, str>,
}

/// The state of the parser: what is expected next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    DocumentEnd,
    BlockEntry,
    IndentlessEntry,
    BlockKey,
    BlockValue,
    FlowFirstEntry,
    FlowEntry,
    /// A mapping of one pair without braces, inside brackets.
    FlowPairKey,
    FlowPairValue,
    FlowPairEnd,
    FlowFirstKey,
    FlowKey,
    FlowValue,
    /// After a key without a colon.
    FlowNoValue,
}

/// The context of a node, which determines its possible forms.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Position {
    Block,
    /// A value of a block mapping, where a list needs no indentation.
    BlockValue,
    Flow,
}

/// Parses the tokens of one document into events.
#[derive(Debug)]
pub(crate) struct Events<'t> {
    scanner: Scanner<'t>,
    state: State,
    states: Vec<State>,
    /// The starts of the open lists and mappings.
    starts: Vec<Mark>,
    /// The prefixes that `%TAG` defines for handles.
    handles: HashMap<&'t str, Cow<'t, str>>,
}

type Next<'t> = Result<Event<'t>, SyntaxError>;

impl<'t> Events<'t> {
    /// Starts at the beginning of a part of a text, on line `line` from 0.
    pub(crate) fn new(text: &'t str, part: Range<usize>, line: u32) -> Self {
        Self {
            scanner: Scanner::new(text, part, line),
            state: State::DocumentEnd,
            states: Vec::new(),
            starts: Vec::new(),
            handles: HashMap::new(),
        }
    }

    /// Opens the document and returns its first event; nothing when there is no document.
    pub(crate) fn first(&mut self) -> Result<Option<Event<'t>>, SyntaxError> {
        let has_directives = self.directives()?;
        let token = self.scanner.peek()?;
        let start = token.start;
        match token.kind {
            TokenKind::StreamEnd if !has_directives => return Ok(None),
            TokenKind::DocumentStart => {
                let token = self.scanner.take()?;
                let ends = matches!(
                    self.scanner.peek()?.kind,
                    TokenKind::TagDirective { .. }
                        | TokenKind::VersionDirective
                        | TokenKind::DocumentStart
                        | TokenKind::DocumentEnd
                        | TokenKind::StreamEnd
                );
                if ends {
                    return Ok(Some(empty(behind(&token))));
                }
            }
            _ if has_directives => {
                return Err(SyntaxError::new(
                    "did not find expected <document start>",
                    start,
                ));
            }
            _ => {}
        }
        self.states.push(State::DocumentEnd);
        self.node(Position::Block).map(Some)
    }

    /// Reads the directives before a document; returns whether there are any.
    fn directives(&mut self) -> Result<bool, SyntaxError> {
        let mut has_version = false;
        loop {
            let is_directive = matches!(
                self.scanner.peek()?.kind,
                TokenKind::TagDirective { .. } | TokenKind::VersionDirective
            );
            if !is_directive {
                return Ok(has_version || !self.handles.is_empty());
            }
            let token = self.scanner.take()?;
            if let TokenKind::TagDirective { handle, prefix } = token.kind {
                if self.handles.insert(handle, prefix).is_some() {
                    let problem = "found duplicate %TAG directive";
                    return Err(SyntaxError::new(problem, token.start));
                }
                continue;
            }
            if has_version {
                let problem = "found duplicate %YAML directive";
                return Err(SyntaxError::new(problem, token.start));
            }
            has_version = true;
        }
    }

    /// Returns the next event.
    pub(crate) fn next_event(&mut self) -> Next<'t> {
        match self.state {
            State::DocumentEnd => {
                let start = self.scanner.peek()?.start;
                Ok(bare(EventKind::DocumentEnd, start, start.offset))
            }
            State::BlockEntry => self.block_entry(),
            State::IndentlessEntry => self.indentless_entry(),
            State::BlockKey => self.block_key(),
            State::BlockValue => self.block_value(),
            State::FlowFirstEntry => self.flow_entry(true),
            State::FlowEntry => self.flow_entry(false),
            State::FlowPairKey => self.flow_pair_key(),
            State::FlowPairValue => self.flow_pair_value(),
            State::FlowPairEnd => {
                let start = self.scanner.peek()?.start;
                self.state = State::FlowEntry;
                Ok(bare(EventKind::End, start, start.offset))
            }
            State::FlowFirstKey => self.flow_key(true),
            State::FlowKey => self.flow_key(false),
            State::FlowValue => self.flow_value(),
            State::FlowNoValue => {
                let start = self.scanner.peek()?.start;
                self.state = State::FlowKey;
                Ok(empty(start))
            }
        }
    }

    /// Returns whether there is more text after the document.
    pub(crate) fn has_more(&mut self) -> bool {
        while let Ok(token) = self.scanner.peek() {
            match token.kind {
                TokenKind::StreamEnd => return false,
                TokenKind::DocumentEnd => {}
                _ => return true,
            }
            if self.scanner.take().is_err() {
                break;
            }
        }
        true
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::DocumentEnd);
    }

    /// Reads a node, after which `then` is expected.
    fn node_then(&mut self, position: Position, then: State) -> Next<'t> {
        self.states.push(then);
        self.node(position)
    }

    fn node(&mut self, position: Position) -> Next<'t> {
        let token = self.scanner.peek()?;
        let start = token.start;
        if matches!(token.kind, TokenKind::Alias(_)) {
            let token = self.scanner.take()?;
            let TokenKind::Alias(name) = token.kind else {
                unreachable!("the peeked token was an alias");
            };
            self.pop_state();
            return Ok(bare(EventKind::Alias(name), start, token.end));
        }
        let (anchor, tag, mut end) = self.properties(start)?;
        let is_bare = anchor.is_none() && tag.is_none();

        let token = self.scanner.peek()?;
        let (kind, state) = match &token.kind {
            TokenKind::BlockEntry if position == Position::BlockValue => {
                end = end.max(start.offset);
                self.state = State::IndentlessEntry;
                return Ok(Event {
                    kind: EventKind::SequenceStart,
                    anchor,
                    tag,
                    start,
                    end,
                });
            }
            TokenKind::Scalar { .. } => {
                let token = self.scanner.take()?;
                self.pop_state();
                let TokenKind::Scalar { text, is_plain } = token.kind else {
                    unreachable!("the peeked token was a scalar");
                };
                let kind = EventKind::Scalar { text, is_plain };
                return Ok(Event {
                    kind,
                    anchor,
                    tag,
                    start,
                    end: token.end,
                });
            }
            TokenKind::FlowSequenceStart => (EventKind::SequenceStart, State::FlowFirstEntry),
            TokenKind::FlowMappingStart => (EventKind::MappingStart, State::FlowFirstKey),
            TokenKind::BlockSequenceStart if position != Position::Flow => {
                (EventKind::SequenceStart, State::BlockEntry)
            }
            TokenKind::BlockMappingStart if position != Position::Flow => {
                (EventKind::MappingStart, State::BlockKey)
            }
            _ if is_bare => {
                let what = if position == Position::Flow {
                    "while parsing a flow node"
                } else {
                    "while parsing a block node"
                };
                let error = SyntaxError::new("did not find expected node content", token.start);
                return Err(error.during(what, start));
            }
            _ => {
                self.pop_state();
                let kind = EventKind::Scalar {
                    text: Cow::Borrowed(""),
                    is_plain: true,
                };
                return Ok(Event {
                    kind,
                    anchor,
                    tag,
                    start,
                    end,
                });
            }
        };
        let opening = self.scanner.take()?;
        self.starts.push(opening.start);
        self.state = state;
        let end = opening.end;
        Ok(Event {
            kind,
            anchor,
            tag,
            start,
            end,
        })
    }

    /// Reads an anchor and a tag, in either order.
    fn properties(
        &mut self,
        start: Mark,
    ) -> Result<(Option<&'t str>, Option<Tag<'t>>, usize), SyntaxError> {
        let (mut anchor, mut tag, mut end) = (None, None, start.offset);
        loop {
            match &self.scanner.peek()?.kind {
                TokenKind::Anchor(_) if anchor.is_none() => {}
                TokenKind::Tag { .. } if tag.is_none() => {}
                _ => return Ok((anchor, tag, end)),
            }
            let token = self.scanner.take()?;
            end = token.end;
            match token.kind {
                TokenKind::Anchor(name) => anchor = Some(name),
                TokenKind::Tag { handle, suffix } => {
                    let Some(prefix) = self.prefix(handle) else {
                        let error = SyntaxError::new("found undefined tag handle", token.start);
                        return Err(error.during("while parsing a node", start));
                    };
                    tag = Some(Tag { prefix, suffix });
                }
                _ => {}
            }
        }
    }

    /// Returns the prefix of a tag's handle.
    fn prefix(&self, handle: &'t str) -> Option<Cow<'t, str>> {
        if let Some(prefix) = self.handles.get(handle) {
            return Some(prefix.clone());
        }
        match handle {
            "" => Some(Cow::Borrowed("")),
            "!" => Some(Cow::Borrowed("!")),
            "!!" => Some(Cow::Borrowed("tag:yaml.org,2002:")),
            _ => None,
        }
    }

    /// Ends the innermost list or mapping at the next token.
    fn end(&mut self) -> Next<'t> {
        let token = self.scanner.take()?;
        self.starts.pop();
        self.pop_state();
        Ok(bare(EventKind::End, token.start, token.end))
    }

    fn unexpected(&mut self, what: &'static str, problem: &'static str) -> Next<'t> {
        let mark = self.scanner.peek()?.start;
        let start = self.starts.last().copied().unwrap_or(mark);
        Err(SyntaxError::new(problem, mark).during(what, start))
    }

    fn block_entry(&mut self) -> Next<'t> {
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry => {
                let entry = self.scanner.take()?;
                match self.scanner.peek()?.kind {
                    TokenKind::BlockEntry | TokenKind::BlockEnd => {
                        self.state = State::BlockEntry;
                        Ok(empty(behind(&entry)))
                    }
                    _ => self.node_then(Position::Block, State::BlockEntry),
                }
            }
            TokenKind::BlockEnd => self.end(),
            _ => self.unexpected(
                "while parsing a block collection",
                "did not find expected '-' indicator",
            ),
        }
    }

    fn indentless_entry(&mut self) -> Next<'t> {
        let token = self.scanner.peek()?;
        if !matches!(token.kind, TokenKind::BlockEntry) {
            let start = token.start;
            self.pop_state();
            return Ok(bare(EventKind::End, start, start.offset));
        }
        let entry = self.scanner.take()?;
        match self.scanner.peek()?.kind {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.state = State::IndentlessEntry;
                Ok(empty(behind(&entry)))
            }
            _ => self.node_then(Position::Block, State::IndentlessEntry),
        }
    }

    fn block_key(&mut self) -> Next<'t> {
        match self.scanner.peek()?.kind {
            TokenKind::Key => {
                let key = self.scanner.take()?;
                match self.scanner.peek()?.kind {
                    TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                        self.state = State::BlockValue;
                        Ok(empty(behind(&key)))
                    }
                    _ => self.node_then(Position::BlockValue, State::BlockValue),
                }
            }
            TokenKind::BlockEnd => self.end(),
            _ => self.unexpected("while parsing a block mapping", "did not find expected key"),
        }
    }

    fn block_value(&mut self) -> Next<'t> {
        let token = self.scanner.peek()?;
        if !matches!(token.kind, TokenKind::Value) {
            let start = token.start;
            self.state = State::BlockKey;
            return Ok(empty(start));
        }
        let value = self.scanner.take()?;
        match self.scanner.peek()?.kind {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                self.state = State::BlockKey;
                Ok(empty(behind(&value)))
            }
            _ => self.node_then(Position::BlockValue, State::BlockKey),
        }
    }

    fn flow_entry(&mut self, is_first: bool) -> Next<'t> {
        if !is_first {
            match self.scanner.peek()?.kind {
                TokenKind::FlowSequenceEnd => return self.end(),
                TokenKind::FlowEntry => {
                    self.scanner.take()?;
                }
                _ => {
                    return self.unexpected(
                        "while parsing a flow sequence",
                        "did not find expected ',' or ']'",
                    );
                }
            }
        }
        match self.scanner.peek()?.kind {
            TokenKind::FlowSequenceEnd => self.end(),
            TokenKind::Key => {
                let key = self.scanner.take()?;
                self.state = State::FlowPairKey;
                Ok(bare(EventKind::MappingStart, key.start, key.end))
            }
            _ => self.node_then(Position::Flow, State::FlowEntry),
        }
    }

    fn flow_pair_key(&mut self) -> Next<'t> {
        match self.scanner.peek()?.kind {
            TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowSequenceEnd => {
                // As in libyaml, the token is skipped, so `[? : a]` has no value either.
                let token = self.scanner.take()?;
                self.state = State::FlowPairValue;
                Ok(empty(behind(&token)))
            }
            _ => self.node_then(Position::Flow, State::FlowPairValue),
        }
    }

    fn flow_pair_value(&mut self) -> Next<'t> {
        if matches!(self.scanner.peek()?.kind, TokenKind::Value) {
            self.scanner.take()?;
            let token = self.scanner.peek()?;
            if !matches!(
                token.kind,
                TokenKind::FlowEntry | TokenKind::FlowSequenceEnd
            ) {
                return self.node_then(Position::Flow, State::FlowPairEnd);
            }
        }
        let start = self.scanner.peek()?.start;
        self.state = State::FlowPairEnd;
        Ok(empty(start))
    }

    fn flow_key(&mut self, is_first: bool) -> Next<'t> {
        if !is_first {
            match self.scanner.peek()?.kind {
                TokenKind::FlowMappingEnd => return self.end(),
                TokenKind::FlowEntry => {
                    self.scanner.take()?;
                }
                _ => {
                    return self.unexpected(
                        "while parsing a flow mapping",
                        "did not find expected ',' or '}'",
                    );
                }
            }
        }
        match self.scanner.peek()?.kind {
            TokenKind::FlowMappingEnd => self.end(),
            TokenKind::Key => {
                self.scanner.take()?;
                let token = self.scanner.peek()?;
                match token.kind {
                    TokenKind::Value | TokenKind::FlowEntry | TokenKind::FlowMappingEnd => {
                        let start = token.start;
                        self.state = State::FlowValue;
                        Ok(empty(start))
                    }
                    _ => self.node_then(Position::Flow, State::FlowValue),
                }
            }
            _ => self.node_then(Position::Flow, State::FlowNoValue),
        }
    }

    fn flow_value(&mut self) -> Next<'t> {
        if matches!(self.scanner.peek()?.kind, TokenKind::Value) {
            self.scanner.take()?;
            let token = self.scanner.peek()?;
            if !matches!(token.kind, TokenKind::FlowEntry | TokenKind::FlowMappingEnd) {
                return self.node_then(Position::Flow, State::FlowKey);
            }
        }
        let start = self.scanner.peek()?.start;
        self.state = State::FlowKey;
        Ok(empty(start))
    }
}

fn bare(kind: EventKind<'_>, start: Mark, end: usize) -> Event<'_> {
    Event {
        kind,
        anchor: None,
        tag: None,
        start,
        end,
    }
}

/// Returns the event of an absent value.
fn empty<'t>(at: Mark) -> Event<'t> {
    let kind = EventKind::Scalar {
        text: Cow::Borrowed(""),
        is_plain: true,
    };
    bare(kind, at, at.offset)
}

/// Returns the position right after a token on one line.
fn behind(token: &Token<'_>) -> Mark {
    let width = u32::try_from(token.end - token.start.offset).unwrap_or(0);
    Mark {
        offset: token.end,
        column: token.start.column + width,
        ..token.start
    }
}
