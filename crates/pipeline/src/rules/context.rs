use super::FileAnswers;
use crate::context::{expand_existing, referenced};
use crate::expression::{MASKED, Variables};
use std::fmt;

/// What rules are evaluated with.
#[derive(Clone, Copy)]
pub struct RuleContext<'c> {
    /// The variables that conditions compare, as they are written.
    pub variables: &'c dyn Variables,
    /// The variables that globs and refs may name, references among them replaced.
    pub expanded: &'c dyn Variables,
    /// The files, with what was asked of them before.
    pub files: &'c FileAnswers<'c>,
}

impl RuleContext<'_> {
    /// Replaces the references in a glob or a ref for people to see.
    pub(super) fn show(&self, text: &str) -> String {
        let shown = expand_existing(text, |name| match self.expanded.get(name) {
            Some(_) if self.expanded.is_masked(name) => Some(MASKED),
            value => value,
        });
        shown.into_owned()
    }

    /// Returns whether a text refers to a variable whose value must not be shown.
    pub(super) fn names_secret(&self, text: &str) -> bool {
        let mut names = referenced(text).into_iter();
        names.any(|name| self.expanded.is_masked(name))
    }

    /// Replaces the references in a glob or a ref; those to unknown variables stay.
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
