use super::tree::Operator;
use std::ops::Range;

/// A token and its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) range: Range<usize>,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind<'t> {
    Open,
    Close,
    Input(&'t str),
    Variable(&'t str),
    Text(&'t str),
    /// A regular expression with its slashes and flags.
    Pattern(&'t str),
    Null,
    Boolean(bool),
    Comparison(Operator),
    Both,
    Either,
    Not,
}

/// Matches Ruby's `\w`.
pub(super) fn is_word(letter: char) -> bool {
    letter == '_' || letter.is_ascii_alphanumeric()
}
