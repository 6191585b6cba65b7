use super::cursor::Mark;
use std::borrow::Cow;

/// A token and its position.
#[derive(Debug, Clone)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) start: Mark,
    /// The offset after it.
    pub(super) end: usize,
}

/// The kinds of tokens.
#[derive(Debug, Clone)]
pub(super) enum TokenKind<'t> {
    StreamEnd,
    /// `%TAG`.
    TagDirective {
        handle: &'t str,
        prefix: Cow<'t, str>,
    },
    /// `%YAML`, which has no effect.
    VersionDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'t str),
    Anchor(&'t str),
    Tag {
        handle: &'t str,
        suffix: Cow<'t, str>,
    },
    Scalar {
        text: Cow<'t, str>,
        is_plain: bool,
    },
}
