use super::{Expression, ExpressionError};
use std::collections::HashMap;
use std::sync::Arc;

/// Reads expressions, and each text only once: in a large pipeline thousands of jobs have the same
/// few rules.
#[derive(Debug, Default)]
pub struct Expressions {
    known: HashMap<String, Result<Arc<Expression>, ExpressionError>>,
}

impl Expressions {
    /// Reads an expression, or returns the one that was read from the same text before.
    ///
    /// # Errors
    ///
    /// As [`Expression::parse`].
    pub fn parse(&mut self, text: &str) -> Result<Arc<Expression>, ExpressionError> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let expression = Expression::parse(text).map(Arc::new);
        self.known.insert(text.to_owned(), expression.clone());
        expression
    }
}
