use std::fmt;

/// The error of a file that is not a JUnit report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JunitError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
}

impl JunitError {
    /// Returns an error at an offset of `text`.
    pub(super) fn at(text: &str, offset: u64, message: impl fmt::Display) -> Self {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.to_string(),
        }
    }
}

impl fmt::Display for JunitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            message,
        } = self;
        write!(f, "line {line}, column {column}: {message}")
    }
}

impl std::error::Error for JunitError {}
