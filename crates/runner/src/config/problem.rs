use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// How serious a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The file works, and a key of it has no effect here.
    Info,
    /// The file works, and probably not as intended.
    Warning,
    /// The file cannot be used.
    Error,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// The text is not TOML.
    Syntax,
    /// A key or table that neither GitLab Runner nor this runner has.
    Unknown,
    /// A value of the wrong type, out of range, missing, or in conflict with another.
    Invalid,
    /// A key of GitLab Runner without effect here.
    NoEffect,
    /// A key of GitLab Runner that is refused, because a runner without its effect would break a promise.
    Refused,
}

/// One problem of a `config.toml`, with its position.
///
/// Displayed as `config.toml:12:3: MESSAGE; HINT`. Neither text contains a token, a password or a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the caller named it.
    pub path: Arc<Path>,
    /// How serious it is.
    pub severity: Severity,
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// The line, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// The problem in words.
    pub message: String,
    /// How to correct it.
    pub hint: Option<String>,
}

impl Problem {
    /// Returns the problem without its position.
    pub(super) fn text(&self) -> String {
        let severity = match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
            Severity::Info => "info: ",
        };
        match &self.hint {
            Some(hint) => format!("{severity}{}; {hint}", self.message),
            None => format!("{severity}{}", self.message),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "{path}:{}:{}: {}", self.line, self.column, self.text())
    }
}
