//! Regular expressions as GitLab has them: RE2, in time linear to the text.

use std::sync::Arc;

/// A regular expression in RE2's syntax.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Arc<str>,
}

impl Pattern {
    /// Returns the expression as it was written, without slashes and flags.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}
