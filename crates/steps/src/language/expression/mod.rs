//! Expressions in texts, `${{ inputs.name || "nobody" }}`.
//!
//! The language is GitLab's [Moa](https://docs.gitlab.com/ci/functions/moa/). What the first versions of the
//! step-runner had, names with dots between them, is a part of it.
//!
//! | type | operators |
//! |---|---|
//! | numbers | `+ - * / %`, and `+ -` in front |
//! | strings | `+` |
//! | all | `== != < <= > >=`, and `&& \|\| !` by whether they are empty; `&&` and `\|\|` give one of their operands |
//!
//! Nothing is converted by itself: `str`, `num` and `bool` do that. What is made of a secret is one.

mod error;
mod evaluate;
mod parse;
mod scope;
mod template;
#[cfg(test)]
mod tests;
mod token;
mod tree;

pub use error::ExpressionError;
pub use scope::Scope;
pub use template::Template;
