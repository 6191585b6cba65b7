//! The images that a job may use, and when they are pulled.

use super::container::Role;
use super::draft::{Draft, refused};
use crate::config::PullPolicy;
use crate::error::KubernetesError;
use executor_core::job::Image;
use regex::Regex;
use std::fmt::Display;

impl Draft<'_> {
    /// Checks that a job may use an image. Images of the settings are always allowed.
    pub(super) fn check_image(&self, role: Role, name: &str) -> Result<(), KubernetesError> {
        let config = self.request.config;
        let is_own = |own: &str| self.variables.expand(own) == name;
        let (key, patterns, is_own) = match role {
            Role::Job => {
                let is_own = config.image.as_deref().is_some_and(is_own);
                ("allowed_images", &config.allowed_images, is_own)
            }
            Role::Service => {
                let is_own = config.services.iter().any(|it| is_own(&it.name));
                ("allowed_services", &config.allowed_services, is_own)
            }
        };
        if patterns.is_empty() || is_own {
            return Ok(());
        }
        // A list may name the default tag or leave it out.
        let last = name.rsplit('/').next().unwrap_or(name);
        let tagged = (!last.contains([':', '@'])).then(|| format!("{name}:latest"));
        for pattern in patterns {
            let regex = Regex::new(&expression(pattern));
            let regex =
                regex.map_err(|_| refused(format!("invalid pattern {pattern:?} in {key}")))?;
            if regex.is_match(name) || tagged.as_ref().is_some_and(|name| regex.is_match(name)) {
                return Ok(());
            }
        }
        Err(refused(format!(
            "the image {name} is not allowed: {key} has only {}",
            list(patterns)
        )))
    }

    /// Returns the pull policy of a container that is tried now; `None` is that of the cluster.
    pub(super) fn pull_policy(
        &mut self,
        container: &str,
        image: &Image,
    ) -> Result<Option<String>, KubernetesError> {
        let config = self.request.config;
        let asked = image.pull_policy.iter().cloned().map(PullPolicy::try_from);
        let mut policies = asked.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let is_asked = !policies.is_empty();
        if !is_asked {
            policies.clone_from(&config.pull_policy);
        }
        let (key, allowed) = match config.allowed_pull_policies.as_slice() {
            [] => ("pull_policy", &config.pull_policy),
            _ => ("allowed_pull_policies", &config.allowed_pull_policies),
        };
        let wanted = policies.clone();
        if is_asked || !allowed.is_empty() {
            policies.retain(|policy| allowed.contains(policy));
        }
        if policies.is_empty() && !wanted.is_empty() {
            return Err(refused(format!(
                "container {container}: the pull policy {} is not allowed: {key} has only {}",
                list(&wanted),
                list(allowed)
            )));
        }
        let tried = self.request.pulls.get(container).copied();
        let policy = policies.get(tried.unwrap_or_default()).or(policies.last());
        let count = policies.len().max(1);
        self.policies.insert(container.to_owned(), count);
        Ok(policy.map(|policy| policy.as_str().to_owned()))
    }
}

/// Returns the regular expression of a pattern with the rules of Go's package doublestar, as GitLab Runner has: `*` ends at a slash,
/// `**` does not.
fn expression(pattern: &str) -> String {
    let mut regex = String::from(r"\A(?s:");
    let mut rest = pattern.chars().peekable();
    let mut depth = 0_usize;
    while let Some(next) = rest.next() {
        match next {
            '*' if rest.next_if_eq(&'*').is_some() => {
                let any = rest.next_if_eq(&'/').map_or(".*", |_| "(?:.*/)?");
                regex.push_str(any);
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            // The rest of a set is the same in both languages.
            '[' => regex.push_str(rest.next_if_eq(&'!').map_or("[", |_| "[^")),
            ']' | '-' => regex.push(next),
            '{' => {
                depth += 1;
                regex.push_str("(?:");
            }
            ',' if depth > 0 => regex.push('|'),
            '}' if depth > 0 => {
                depth -= 1;
                regex.push(')');
            }
            _ => {
                let literal = if next == '\\' {
                    rest.next()
                } else {
                    Some(next)
                };
                let literal = literal.unwrap_or(next);
                regex.push_str(&regex::escape(literal.encode_utf8(&mut [0; 4])));
            }
        }
    }
    regex + r")\z"
}

fn list(entries: &[impl Display]) -> String {
    let words: Vec<_> = entries.iter().map(ToString::to_string).collect();
    if words.is_empty() {
        return "nothing".to_owned();
    }
    words.join(", ")
}
