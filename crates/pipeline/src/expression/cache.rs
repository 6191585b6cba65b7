use super::{Expression, ExpressionError};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of large regular expressions in the conditions of a pipeline: each takes some
/// hundredths of a second to compile.
const MOST_LARGE_PATTERNS: usize = 100;

/// Parses each text only once: in a large pipeline thousands of jobs have the same few rules.
#[derive(Debug, Default)]
pub struct Expressions {
    known: HashMap<String, Result<Arc<Expression>, ExpressionError>>,
    large_patterns: usize,
}

impl Expressions {
    /// Parses an expression, or returns the one parsed from the same text before.
    ///
    /// # Errors
    ///
    /// As [`Expression::parse`], and when there are too many large regular expressions.
    pub fn parse(&mut self, text: &str) -> Result<Arc<Expression>, ExpressionError> {
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let expression = self.read(text).map(Arc::new);
        self.known.insert(text.to_owned(), expression.clone());
        expression
    }

    fn read(&mut self, text: &str) -> Result<Expression, ExpressionError> {
        let too_many = || {
            let message = "the conditions have too many large regular expressions";
            let help = format!(
                "at most {MOST_LARGE_PATTERNS} may be that large: reduce their repetitions"
            );
            ExpressionError::new(0..text.len(), message).with_help(help)
        };
        // Beyond the limit, texts that may contain another one are not parsed at all.
        if text.contains('/') && self.large_patterns > MOST_LARGE_PATTERNS {
            return Err(too_many());
        }
        let expression = Expression::parse(text)?;
        let patterns = expression.patterns();
        let large = patterns.filter(|pattern| pattern.is_large()).count();
        self.large_patterns += large;
        if large > 0 && self.large_patterns > MOST_LARGE_PATTERNS {
            return Err(too_many());
        }
        Ok(expression)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_patterns_are_counted_once_each() {
        let mut expressions = Expressions::default();
        let mut read = |number: usize| {
            let text = format!(r"$X =~ /^\pL{{100}}-{number}$/");
            expressions.parse(&text).is_ok()
        };
        for number in 0..MOST_LARGE_PATTERNS {
            assert!(read(number), "{number}");
            assert!(read(0));
        }
        assert!(!read(MOST_LARGE_PATTERNS));
        assert!(read(0), "a cached expression stays valid");
        assert!(expressions.parse("$X == \"a\"").is_ok());
    }
}
