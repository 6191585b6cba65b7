use crate::pattern::PatternError;
use std::ops::Range;
use thiserror::Error;

/// Why a text is no expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// The part of the text that it is about, in bytes; empty at the end of the text.
    pub range: Range<usize>,
    /// What is wrong, in one sentence without a final dot.
    pub message: String,
    /// What the author can do.
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

    /// Returns the error about a regular expression that stands at `range`.
    pub(super) fn pattern(range: Range<usize>, error: PatternError) -> Self {
        let start = (range.start + error.offset).min(range.end);
        Self {
            range: start..range.end,
            message: error.message,
            help: error.help.map(str::to_owned),
        }
    }
}
