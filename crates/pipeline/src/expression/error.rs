use crate::pattern::PatternError;
use std::ops::Range;
use thiserror::Error;

/// Why a text is not a valid expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// The byte range of the error in the text; empty at the end of the text.
    pub range: Range<usize>,
    /// The error, in one sentence without a final dot.
    pub message: String,
    /// A suggestion for the author.
    pub help: Option<String>,
}

impl ExpressionError {
    pub(super) fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            range,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn with_help(self, help: impl Into<String>) -> Self {
        Self {
            help: Some(help.into()),
            ..self
        }
    }

    /// Returns the error about a regular expression at `range`.
    pub(super) fn pattern(range: Range<usize>, error: PatternError) -> Self {
        let start = (range.start + error.offset).min(range.end);
        Self {
            range: start..range.end,
            message: error.message,
            help: error.help.map(str::to_owned),
        }
    }
}
