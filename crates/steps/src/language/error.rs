use super::expression::ExpressionError;
use std::fmt;

/// An error in a function, a reference or a value. It has no secrets, and no text of scripts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", location(*.line, *.column))]
pub struct LanguageError {
    /// What is wrong.
    pub message: String,
    /// The line of the text, from 1, if known: that of invalid or unsupported YAML.
    pub line: Option<usize>,
    /// The character of that line, from 1.
    pub column: Option<usize>,
}

impl LanguageError {
    pub(super) fn new(message: impl fmt::Display) -> Self {
        Self {
            message: message.to_string(),
            line: None,
            column: None,
        }
    }

    pub(super) fn at(line: usize, column: Option<usize>, message: impl fmt::Display) -> Self {
        Self {
            line: Some(line),
            column,
            ..Self::new(message)
        }
    }
}

fn location(line: Option<usize>, column: Option<usize>) -> String {
    match (line, column) {
        (Some(line), Some(column)) => format!("line {line}, character {column}: "),
        (Some(line), None) => format!("line {line}: "),
        _ => String::new(),
    }
}

impl From<String> for LanguageError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<ExpressionError> for LanguageError {
    /// Its position is relative to its own text, which is a part of a line or several lines.
    fn from(error: ExpressionError) -> Self {
        Self::new(error)
    }
}

#[cfg(test)]
mod tests {
    use crate::language::Function;

    #[test]
    fn invalid_yaml_is_reported_with_its_location() {
        let error = Function::parse("spec:\n---\nrun: [\n").unwrap_err();
        assert_eq!(error.line, Some(4));
        assert!(error.column.is_some());
        let text = error.to_string();
        assert!(text.starts_with("line 4, character "), "{text}");
        let error = Function::parse("spec:\n").unwrap_err();
        assert_eq!((error.line, error.to_string()), (None, error.message));
    }
}
