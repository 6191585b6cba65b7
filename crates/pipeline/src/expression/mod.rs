//! The conditions of `rules:if`, `only:variables` and the rules of inputs.
//!
//! A text becomes tokens (`lexer`), tokens become a tree of fewer than a hundred nodes (`parser`),
//! and the tree is evaluated with variables (`evaluate`), or traced step by step to explain the
//! result (`trace`). Grammar and quirks are GitLab's.
//!
//! # Examples
//!
//! ```
//! use pipeline::expression::{Expression, Value};
//!
//! let expression = Expression::parse(r#"$CI_COMMIT_BRANCH == "main" && $SUITE"#)?;
//! assert_eq!(expression.variables().collect::<Vec<_>>(), ["CI_COMMIT_BRANCH", "SUITE"]);
//!
//! let variables = [("CI_COMMIT_BRANCH", "main"), ("SUITE", "all")];
//! assert_eq!(expression.evaluate(&variables), Value::Text("all"));
//! assert!(expression.is_true(&variables));
//! # Ok::<(), pipeline::expression::ExpressionError>(())
//! ```

mod cache;
mod error;
mod evaluate;
mod hint;
mod lexer;
mod lookup;
mod parser;
mod token;
mod trace;
mod tree;
mod value;

pub use cache::Expressions;
pub use error::ExpressionError;
pub use lookup::Variables;
pub use trace::MASKED;
pub use trace::{Trace, TraceStep};
pub use value::Value;

use crate::pattern::Pattern;
use std::ops::Range;
use std::sync::Arc;
use tree::Tree;

/// A parsed condition on variables.
#[derive(Debug, Clone)]
pub struct Expression {
    text: Arc<str>,
    tree: Arc<Tree>,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// When GitLab would refuse it: an unknown token, a missing operand or operator, an unmatched
    /// parenthesis, an invalid regular expression, or 100 tokens and more.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let tokens = lexer::tokens(text)?;
        let tree = parser::tree(text, &tokens)?;
        Ok(Self {
            text: text.into(),
            tree: Arc::new(tree),
        })
    }

    /// Returns the value of the expression: a boolean for comparisons, an operand for `&&` and
    /// `||`.
    ///
    /// It is null when the expression cannot be evaluated, such as `$A =~ true`, which GitLab
    /// treats as false.
    pub fn evaluate<'v>(&'v self, variables: &'v dyn Variables) -> Value<'v> {
        evaluate::evaluate(&self.tree, variables).unwrap_or(Value::Null)
    }

    /// Returns whether the condition is true: whether its value is not blank.
    pub fn is_true(&self, variables: &dyn Variables) -> bool {
        evaluate::is_true(&self.tree, variables)
    }

    /// Returns whether the condition is true, if it has no variables and inputs.
    pub fn constant(&self) -> Option<bool> {
        let mut names = self.variables().chain(self.inputs());
        names.next().is_none().then(|| self.is_true(&[]))
    }

    /// Returns the values of its parts, to explain the result.
    pub fn trace(&self, variables: &dyn Variables) -> Trace {
        trace::trace(&self.text, &self.tree, variables)
    }

    /// Returns the names of its variables, each once.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.tree.variables()
    }

    /// Returns the regular expressions in it.
    pub fn patterns(&self) -> impl Iterator<Item = &Pattern> {
        self.tree.patterns()
    }

    /// Returns the names of its inputs, each once.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.tree.inputs()
    }

    /// Returns the range of the first `=~` or `!~` whose right side is text that is not a regular
    /// expression: then the left side is looked for in the right one.
    pub fn reversed_match(&self) -> Option<Range<usize>> {
        self.tree.reversed_match()
    }

    /// Returns the text it was parsed from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Expression {}

#[cfg(test)]
mod tests;
