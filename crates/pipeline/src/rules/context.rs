use super::FileConditions;
use crate::context::{expand_existing, referenced};
use crate::expression::{MASKED, Variables};
use std::fmt;

/// The context in which rules are evaluated.
#[derive(Clone, Copy)]
pub struct RuleContext<'c> {
    /// The variables for conditions, not expanded.
    pub variables: &'c dyn Variables,
    /// The variables for globs and refs, expanded.
    pub expanded: &'c dyn Variables,
    /// The conditions on files, with cached results.
    pub files: &'c FileConditions<'c>,
}

impl RuleContext<'_> {
    /// Expands a glob or a ref for display.
    pub(super) fn show(&self, text: &str) -> String {
        let shown = expand_existing(text, |name| match self.expanded.get(name) {
            Some(_) if self.expanded.is_masked(name) => Some(MASKED),
            value => value,
        });
        shown.into_owned()
    }

    /// Returns whether a text refers to a secret variable.
    pub(super) fn names_secret(&self, text: &str) -> bool {
        let mut names = referenced(text).into_iter();
        names.any(|name| self.expanded.is_masked(name))
    }

    /// Expands a glob or a ref; references to unknown variables stay.
    pub(super) fn expand(&self, text: &str) -> String {
        expand_existing(text, |name| self.expanded.get(name)).into_owned()
    }
}

impl fmt::Debug for RuleContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleContext")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}
