//! The variables of a service, and those that only the runner reads.

use executor_core::variable::{JobVariable, JobVariables, LONGEST_VALUE, expand_within};
use std::borrow::Cow;

/// The prefixes of the runner's own variables; see [`Probes`](super::Probes).
pub(crate) const OURS: [&str; 2] = ["RUNWRIGHT_READY_", "RUNWRIGHT_SERVICE_"];

/// The variables of one service.
///
/// A service gets the public variables of the job, overridden by its own. It does not get secrets (masked, protected or
/// file variables), because the engine shows the environment of a container. A service's own variable can pass a secret
/// on explicitly: `POSTGRES_PASSWORD: $DB_PASSWORD`.
///
/// # Examples
///
/// ```
/// use executor_core::variable::{JobVariable, JobVariables};
/// use executor_docker::service::ServiceVariables;
///
/// let job: JobVariables = [JobVariable::public("CI", "true"), JobVariable::masked("SECRET", "s")]
///     .into_iter()
///     .collect();
/// let own = [JobVariable::public("PASSWORD", "$SECRET")];
/// let service = ServiceVariables::new(&job, &own);
/// assert_eq!(service.environment(), ["CI=true", "PASSWORD=s"]);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServiceVariables {
    /// In order, each name once.
    list: Vec<(String, String)>,
}

impl std::fmt::Debug for ServiceVariables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.list.iter().map(|(name, _)| name))
            .finish()
    }
}

impl ServiceVariables {
    /// Returns the variables of a service with the variables `own`, in a job with the variables `job`.
    pub fn new(job: &JobVariables, own: &[JobVariable]) -> Self {
        let mut merged = JobVariables::new();
        let expanded = job.expanded();
        let visible =
            |variable: &&JobVariable| variable.public && !variable.masked && !variable.file;
        for variable in job.iter().filter(visible) {
            let value = if variable.raw {
                variable.value.clone()
            } else {
                // Only public variables are expanded: a public variable that refers to a secret does not
                // pass it to the service.
                expand(&variable.value, |name| {
                    job.variable(name)
                        .filter(visible)
                        .map(|found| found.value.as_str())
                })
            };
            merged.push(JobVariable::public(variable.key.clone(), value));
        }
        for variable in own.iter().filter(|variable| !variable.file) {
            let value = if variable.raw {
                variable.value.clone()
            } else {
                expand(&variable.value, |name| {
                    let sibling = own.iter().rev().find(|other| other.key == name);
                    sibling
                        // A reference to itself means the job's variable.
                        .filter(|other| other.key != variable.key)
                        .map(|other| other.value.as_str())
                        .or_else(|| expanded.get(name))
                })
            };
            merged.push(JobVariable::public(variable.key.clone(), value));
        }
        let list = merged.iter();
        let list = list.filter(|variable| is_name(&variable.key) && !variable.value.contains('\0'));
        Self {
            list: list
                .map(|variable| (variable.key.clone(), variable.value.clone()))
                .collect(),
        }
    }

    /// Returns the value of the variable `name`, unless it is empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.list.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// Returns the environment of the container, as `NAME=value`, without the runner's own variables.
    pub fn environment(&self) -> Vec<String> {
        self.list
            .iter()
            .filter(|(name, _)| !OURS.iter().any(|prefix| name.starts_with(prefix)))
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }
}

fn expand<'v>(text: &str, look_up: impl Fn(&str) -> Option<&'v str>) -> String {
    let found = |name: &str| look_up(name).map(Cow::Borrowed);
    expand_within(LONGEST_VALUE, text, found).map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// Returns whether an environment variable can have this name.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(job: &[JobVariable], own: &[JobVariable], expect: &[&str]) {
        let job: JobVariables = job.iter().cloned().collect();
        let service = ServiceVariables::new(&job, own);
        assert_eq!(service.environment(), expect);
    }

    fn public(name: &str, value: &str) -> JobVariable {
        JobVariable::public(name, value)
    }

    #[test]
    fn own_variables_override_public_ones() {
        check(
            &[public("A", "1"), public("B", "$A")],
            &[
                public("A", "own $B"),
                public("C", "$A-$D"),
                public("D", "4"),
            ],
            &["A=own 1", "B=1", "C=own $B-4", "D=4"],
        );
        check(
            &[public("PATH_", "/a")],
            &[public("PATH_", "$PATH_:/b")],
            &["PATH_=/a:/b"],
        );
        let raw = JobVariable {
            raw: true,
            ..public("RAW", "$A")
        };
        check(&[public("A", "1")], &[raw], &["A=1", "RAW=$A"]);
    }

    #[test]
    fn a_secret_reaches_a_service_only_by_its_own_variable() {
        let secret = JobVariable::masked("SECRET", "s3");
        let hidden = JobVariable {
            public: false,
            ..public("HIDDEN", "h")
        };
        let file = JobVariable::file("FILE", "content");
        check(
            &[secret.clone(), hidden, file, public("LEAK", "<$SECRET>")],
            &[],
            &["LEAK=<>"],
        );
        check(
            &[secret],
            &[public("PASSWORD", "$SECRET")],
            &["PASSWORD=s3"],
        );
        let job = [JobVariable::masked("SECRET", "s3")].into_iter().collect();
        let service = ServiceVariables::new(&job, &[public("P", "$SECRET")]);
        assert!(!format!("{service:?}").contains("s3"));
    }

    #[test]
    fn internal_and_invalid_variables_are_not_passed() {
        check(
            &[],
            &[
                public("RUNWRIGHT_READY_TCP", "80"),
                public("RUNWRIGHT_SERVICE_REQUIRED", "true"),
                public("", "x"),
                public("A=B", "x"),
                public("NUL", "a\0b"),
                public("LINES", "a\nb"),
            ],
            &["LINES=a\nb"],
        );
    }
}
