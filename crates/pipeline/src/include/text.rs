use crate::context::{expand, referenced};
use crate::expression::MASKED;
use executor_core::variable::{JobVariable, JobVariables};
use yaml::source::Span;

/// A text of an `include` with its variables expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    /// The expanded text.
    pub(super) value: String,
    /// The text for messages, without the values of masked variables, and without user and query of
    /// a URL.
    pub(super) shown: String,
    /// The first variable in it that is not set.
    pub(super) unset: Option<String>,
    /// Its location.
    pub(super) span: Span,
}

impl Text {
    /// Expands the variables in a text; unknown ones become empty.
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
            shown: bare(expand(text, |name| variables.variable(name).map(secret)).into_owned()),
            unset: referenced(text)
                .into_iter()
                .find(|name| variables.get(name).is_none())
                .map(str::to_owned),
            span,
        }
    }

    /// Returns the path without leading slashes.
    pub(super) fn without_slash(&self) -> Self {
        let trim = |text: &str| text.trim_start_matches('/').to_owned();
        Self {
            value: trim(&self.value),
            shown: trim(&self.shown),
            ..self.clone()
        }
    }

    /// Returns help for a text that is wrong because a variable in it is not set.
    pub(super) fn unset_help(&self) -> Option<String> {
        let name = self.unset.as_deref()?;
        Some(format!(
            "`${name}` is not set, so it is empty: variables of the file and of jobs are not known \
             when includes are read"
        ))
    }
}

/// Returns a URL without its user and query, which may contain tokens; other text stays unchanged.
fn bare(text: String) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text;
    };
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let (path, secret) = rest.split_at(end);
    let server = path.find(['/', '\\']).unwrap_or(path.len());
    let user = path[..server].rfind('@').map_or(0, |at| at + 1);
    if user == 0 && !secret.starts_with('?') {
        return text;
    }
    format!("{scheme}://{}?…", &path[user..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_no_user_and_no_query_of_a_url() {
        let check = |text: &str, expect: &str| assert_eq!(bare(text.to_owned()), expect);
        check("https://h/a.yml", "https://h/a.yml");
        check("https://h/a@1/b.yml", "https://h/a@1/b.yml");
        check("https://h/a.yml#part", "https://h/a.yml#part");
        check("https://h/raw?t=s&f=/a.yml", "https://h/raw?…");
        check("https://me:s@h:81/a.yml", "https://h:81/a.yml?…");
        check("https://s@t@h/a.yml", "https://h/a.yml?…");
        check("https://s@[::1/a.yml?s", "https://[::1/a.yml?…");
        check("https://s@h\\@i/a.yml", "https://h\\@i/a.yml?…");
        check("https://h?s://x@y", "https://h?…");
        check("https://me:s@h", "https://h?…");
        check("ci/a?b@c.yml", "ci/a?b@c.yml");
        check("://", "://");
    }
}
