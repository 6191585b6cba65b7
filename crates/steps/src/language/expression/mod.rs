//! Expressions in texts, `${{ inputs.name || "nobody" }}`.
//!
//! The language is GitLab's [Moa](https://docs.gitlab.com/ci/functions/moa/). The dotted names of the first versions of
//! the step-runner are a part of it.
//!
//! | type | operators |
//! |---|---|
//! | numbers | `+ - * / %`, and `+ -` in front |
//! | strings | `+` |
//! | all | `== != < <= > >=`, and `&& \|\| !` by truthiness; `&&` and `\|\|` return one of their operands |
//!
//! There are no implicit conversions: `str`, `num` and `bool` convert. Values derived from a secret are secret.

mod evaluate;
mod parse;
mod template;
#[cfg(test)]
mod tests;
mod token;
mod tree;

pub use template::Template;

use crate::language::value::Value;
use std::fmt;
use std::fmt::Debug;
use thiserror::Error;

/// The names that expressions can use.
pub trait Scope: Debug {
    /// Returns the value of a name; `None` if it is unknown.
    fn get(&self, name: &str) -> Option<&Value>;

    /// Returns the known names.
    fn names(&self) -> Vec<&str>;
}

/// Why an expression cannot be evaluated. It contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}, at character {}", .at + 1)]
pub struct ExpressionError {
    /// The message.
    pub message: String,
    /// The position of the error in the whole text, in characters from 0.
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
