use executor_core::job::{Credentials as JobCredentials, SecretString};
use std::path::PathBuf;

/// The variable with a whole config.json.
const VARIABLE: &str = "DOCKER_AUTH_CONFIG";

/// The sources of credentials, in GitLab's order.
#[derive(Debug, Clone, Default)]
pub struct CredentialSources {
    /// `DOCKER_AUTH_CONFIG` of the job's variables.
    pub job: Option<SecretString>,
    /// `DOCKER_AUTH_CONFIG` of the runner's environment.
    pub runner: Option<SecretString>,
    /// The `config.json` of the runner's user.
    pub file: Option<PathBuf>,
    /// The credentials that a GitLab sent with the job.
    pub payload: Vec<JobCredentials>,
}

impl CredentialSources {
    /// Returns those of the runner itself: its environment and its user's `config.json`.
    pub fn of_runner() -> Self {
        Self::of_environment(&|name| std::env::var_os(name))
    }

    fn of_environment(variable: &dyn Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let path = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let directory = path("DOCKER_CONFIG").or_else(|| Some(path("HOME")?.join(".docker")));
        let runner = variable(VARIABLE).and_then(|value| value.into_string().ok());
        Self {
            runner: runner
                .filter(|text| !text.is_empty())
                .map(SecretString::new),
            file: directory.map(|directory| directory.join("config.json")),
            ..Self::default()
        }
    }

    /// Adds those of a job: its variable, and the credentials that a GitLab sent with it.
    pub fn with_job(mut self, variable: Option<&str>, payload: &[JobCredentials]) -> Self {
        let variable = variable.filter(|text| !text.trim().is_empty());
        self.job = variable.map(SecretString::new);
        self.payload = payload.to_vec();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_of_the_runner_is_dockers() {
        let check = |variables: &[(&str, &str)], expected: Option<&str>| {
            let sources = CredentialSources::of_environment(&|name| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| value.into())
            });
            assert_eq!(sources.file, expected.map(PathBuf::from));
        };
        check(&[("HOME", "/of/ci")], Some("/of/ci/.docker/config.json"));
        check(
            &[("HOME", "/of/ci"), ("DOCKER_CONFIG", "/etc/d")],
            Some("/etc/d/config.json"),
        );
        check(&[("DOCKER_CONFIG", "")], None);
    }
}
