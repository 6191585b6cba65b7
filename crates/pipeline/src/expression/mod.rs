//! The conditions of `rules:if`, `only:variables` and the rules of inputs.
//!
//! A text becomes tokens (`lexer`), tokens become a tree of fewer than a hundred nodes (`parser`),
//! and the tree is asked with the variables at hand (`evaluate`), or asked step by step for those
//! who want to know why (`trace`). Grammar and quirks are GitLab's.
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
mod recent;
mod trace;
mod tree;
mod value;

pub use cache::Expressions;
pub use error::ExpressionError;
pub use lookup::Variables;
pub use trace::MASKED;
pub use trace::{Trace, TraceStep};
pub use value::Value;

use std::sync::Arc;
use tree::Tree;

/// A condition on variables, read and ready to be evaluated.
#[derive(Debug, Clone)]
pub struct Expression {
    text: Arc<str>,
    tree: Arc<Tree>,
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// When GitLab would refuse it: what it is not made of, a missing operand or operator, a
    /// parenthesis without its other half, a regular expression that is none, or 100 tokens and
    /// more.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let tokens = lexer::tokens(text)?;
        let tree = parser::tree(text, &tokens)?;
        Ok(Self {
            text: text.into(),
            tree: Arc::new(tree),
        })
    }

    /// Returns what the expression yields: a boolean of comparisons, an operand of `&&` and `||`.
    ///
    /// It is null when the expression cannot be evaluated, as `$A =~ true`, which GitLab takes for
    /// a condition that does not hold.
    pub fn evaluate<'v>(&'v self, variables: &'v dyn Variables) -> Value<'v> {
        evaluate::evaluate(&self.tree, variables).unwrap_or(Value::Null)
    }

    /// Returns whether the condition holds: whether it yields something that is not blank.
    pub fn is_true(&self, variables: &dyn Variables) -> bool {
        !self.evaluate(variables).is_blank()
    }

    /// Returns what its parts yield, for people who want to know why it holds or does not.
    pub fn trace(&self, variables: &dyn Variables) -> Trace {
        trace::trace(self, variables)
    }

    /// Returns the names of the variables it asks for, each once.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.tree.variables()
    }

    /// Returns the names of the inputs it asks for, each once.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.tree.inputs()
    }

    /// Returns the text it was read from.
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
