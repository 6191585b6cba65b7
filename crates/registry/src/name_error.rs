use std::fmt;

/// Why a text is not a name of a registry, repository, tag, digest or platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError {
    text: String,
    reason: &'static str,
}

impl NameError {
    pub(crate) fn new(text: &str, reason: &'static str) -> Self {
        let shown = text.chars().filter(|c| !c.is_control()).take(200);
        Self {
            text: shown.collect(),
            reason,
        }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.text, self.reason)
    }
}

impl std::error::Error for NameError {}
