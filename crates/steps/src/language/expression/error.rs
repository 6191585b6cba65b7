use std::fmt;
use thiserror::Error;

/// Why an expression has no value. Holds no value of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}, at character {}", .at + 1)]
pub struct ExpressionError {
    /// What is wrong.
    pub message: String,
    /// The character of the whole text where it is wrong, from 0.
    pub at: usize,
}

impl ExpressionError {
    pub(super) fn new(at: usize, message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            at,
        }
    }
}
