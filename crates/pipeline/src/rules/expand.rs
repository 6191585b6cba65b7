//! The variables in globs and refs of rules.

use crate::context::{expand_existing, referenced};
use crate::expression::{MASKED, Variables};

/// Expands a glob or a ref for display.
pub(super) fn show(text: &str, expanded: &dyn Variables) -> String {
    let shown = expand_existing(text, |name| match expanded.get(name) {
        Some(_) if expanded.is_masked(name) => Some(MASKED),
        value => value,
    });
    shown.into_owned()
}

/// Returns whether a text refers to a secret variable.
pub(super) fn names_secret(text: &str, expanded: &dyn Variables) -> bool {
    let mut names = referenced(text).into_iter();
    names.any(|name| expanded.is_masked(name))
}

/// Expands a glob or a ref; references to unknown variables stay.
pub(super) fn expand(text: &str, expanded: &dyn Variables) -> String {
    expand_existing(text, |name| expanded.get(name)).into_owned()
}
