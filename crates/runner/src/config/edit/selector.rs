use super::EditError;
use crate::config::read_runner::parse_url;
use executor_core::job::SecretString;
use std::fmt;

/// What identifies a runner of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunnerEntry {
    /// The name; empty if the file has none.
    pub name: String,
    /// The address of GitLab, as it is written.
    pub url: String,
    /// The token; empty if the file has none.
    pub token: SecretString,
    /// The id at GitLab; 0 if the file has none.
    pub id: u64,
}

/// Selects a runner of a file by everything that is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunnerSelector {
    /// The name.
    pub name: Option<String>,
    /// The address of GitLab. A `/` at its end does not matter.
    pub url: Option<String>,
    /// The token.
    pub token: Option<SecretString>,
}

impl RunnerSelector {
    /// Selects by the name.
    pub fn by_name(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..Self::default()
        }
    }

    /// Selects by the address and the token, which no other runner has.
    pub fn by_token(url: impl Into<String>, token: impl Into<SecretString>) -> Self {
        Self {
            url: Some(url.into()),
            token: Some(token.into()),
            ..Self::default()
        }
    }

    /// Returns the index of the only runner that fits.
    pub(super) fn find(&self, runners: &[RunnerEntry]) -> Result<usize, EditError> {
        let fitting = runners.iter().enumerate();
        let mut fitting = fitting.filter(|(_, runner)| self.fits(runner));
        let Some((index, _)) = fitting.next() else {
            return Err(EditError::NotFound(self.to_string()));
        };
        match fitting.count() {
            0 => Ok(index),
            more => Err(EditError::Ambiguous {
                selector: self.to_string(),
                count: more + 1,
            }),
        }
    }

    fn fits(&self, runner: &RunnerEntry) -> bool {
        let name = self.name.as_ref().is_none_or(|name| *name == runner.name);
        let url = self
            .url
            .as_ref()
            .is_none_or(|url| is_same(url, &runner.url));
        let token = self.token.as_ref().is_none_or(|it| *it == runner.token);
        name && url && token
    }
}

/// Shows the parts that are set, without the token.
impl fmt::Display for RunnerSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_ref().map(|name| format!("the name {name:?}"));
        let url = self.url.as_ref().map(|url| format!("the url {url}"));
        let token = self.token.as_ref().map(|_| "this token".to_owned());
        let parts: Vec<String> = name.into_iter().chain(url).chain(token).collect();
        match &*parts {
            [] => f.write_str("nothing in particular"),
            parts => f.write_str(&parts.join(" and ")),
        }
    }
}

fn is_same(a: &str, b: &str) -> bool {
    match (parse_url(a), parse_url(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}
