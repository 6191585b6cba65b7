use crate::shown::Shown;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The help for a lock file that cannot be read.
pub(crate) const RENEW: &str = "`runwright vendor` writes it anew";

/// An error in the lock file, or in a text beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockFileError {
    /// The file.
    pub path: PathBuf,
    /// The line and column, from 1, if the error has a location.
    pub location: Option<(usize, usize)>,
    /// What is wrong.
    pub reason: String,
    /// What the user can do.
    pub help: Option<String>,
    /// Whether the machine is at fault, for example by a full disk, and not the file.
    pub is_of_machine: bool,
}

impl LockFileError {
    pub(crate) fn new(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            location: None,
            reason: Shown(&reason.into()).to_string(),
            help: None,
            is_of_machine: false,
        }
    }

    /// Returns the error of a file operation.
    pub(crate) fn io(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        let failed = Self::new(path, error.to_string());
        match error.kind() {
            io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                failed.with_help(&format!("remove it; then {RENEW}"))
            }
            _ => failed.of_machine(),
        }
    }

    pub(crate) fn of_machine(mut self) -> Self {
        self.is_of_machine = true;
        self
    }

    pub(crate) fn with_help(mut self, help: &str) -> Self {
        self.help = Some(help.to_owned());
        self
    }

    /// Adds the location in the text of the file.
    pub(super) fn at(mut self, text: &str, offset: usize) -> Self {
        self.location = Some(location(text, offset));
        self
    }
}

/// Returns the line and column of a byte, in characters from 1.
fn location(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let line = before.split(|byte| *byte == b'\n').count();
    let column = String::from_utf8_lossy(&before[line_start..])
        .chars()
        .count()
        + 1;
    (line, column)
}

impl fmt::Display for LockFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some((line, column)) = self.location {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for LockFileError {}
