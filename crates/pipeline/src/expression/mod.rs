//! The conditions of `rules:if` and `only:variables`.

mod lookup;

pub use lookup::Variables;

use std::sync::Arc;

/// A condition on variables, read and ready to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: Arc<str>,
}

impl Expression {
    /// Returns the text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }
}
