use crate::context::expand;
use crate::expression::MASKED;
use crate::source::Span;
use executor_core::variable::{JobVariable, JobVariables};

/// A text of an `include` with its variables replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// What it says.
    pub(super) value: String,
    /// What messages show of it, without the values of masked variables.
    pub(super) shown: String,
    /// Where it stands.
    pub(super) span: Span,
}

impl Text {
    /// Replaces the variables in a text; unknown ones become empty.
    pub(super) fn new(text: &str, span: Span, variables: &JobVariables) -> Self {
        fn secret(variable: &JobVariable) -> &str {
            if variable.masked {
                MASKED
            } else {
                &variable.value
            }
        }
        Self {
            value: expand(text, |name| variables.get(name)).into_owned(),
            shown: expand(text, |name| variables.variable(name).map(secret)).into_owned(),
            span,
        }
    }

    /// Returns the path without slashes at its start, which all paths here do without.
    pub(super) fn without_slash(&self) -> Self {
        let trim = |text: &str| text.trim_start_matches('/').to_owned();
        Self {
            value: trim(&self.value),
            shown: trim(&self.shown),
            span: self.span,
        }
    }
}

/// Returns what may be shown of a text that may repeat what was asked for: the values of masked
/// variables are left out, in small letters too, as hosts are written.
pub(super) fn without_secrets(text: &str, variables: &JobVariables) -> String {
    let masked = variables.iter().filter(|variable| variable.masked);
    let mut secrets: Vec<&str> = masked.map(|variable| &*variable.value).collect();
    secrets.retain(|secret| !secret.is_empty());
    // A longer one may hold a shorter one.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let shown = text.to_owned();
    secrets.into_iter().fold(shown, |shown, secret| {
        let small = secret.to_ascii_lowercase();
        let mut rest = shown.as_str();
        let mut hidden = String::new();
        while let Some(at) = rest.to_ascii_lowercase().find(&small) {
            hidden.push_str(&rest[..at]);
            hidden.push_str(MASKED);
            rest = &rest[at + secret.len()..];
        }
        hidden + rest
    })
}
