use serde::Serialize;
use std::fmt;

/// A place in one of the files a pipeline is made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters from 1.
    pub column: u32,
    /// The top-level key it stands under; absent for the file as a whole.
    pub key: Option<String>,
    /// The places that include the file, as `file:line`, the nearest first.
    pub includes: Vec<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
