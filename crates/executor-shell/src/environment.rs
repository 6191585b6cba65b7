//! The process environment of a job: inherited variables, and the job's own above them.

use crate::config::InheritEnvironment;
use executor_core::StageVariables;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

/// Variables that [`InheritEnvironment::All`] excludes, besides those of foreign repositories.
const NOT_INHERITED: [&str; 12] = [
    "CI",
    "CI_*",
    "GITLAB_CI",
    "GITLAB_ENV",
    "RUNNER_*",
    "RUNWRIGHT_*",
    "REGISTER_*",
    "REGISTRATION_TOKEN",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "_",
];

/// The inherited part of the runner's process environment. `Debug` shows only names.
#[derive(Clone)]
pub(crate) struct RunnerEnvironment {
    variables: Vec<(OsString, OsString)>,
}

impl RunnerEnvironment {
    /// Captures the runner's current process environment.
    pub(crate) fn capture(inherit: &InheritEnvironment) -> Self {
        Self::select(inherit, std::env::vars_os())
    }

    fn select(
        inherit: &InheritEnvironment,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Self {
        let wanted = |name: &OsStr| match inherit {
            InheritEnvironment::All => {
                let foreign = name
                    .to_str()
                    .is_some_and(executor_core::variable::is_foreign_git_variable);
                !foreign && !NOT_INHERITED.iter().any(|pattern| matches(pattern, name))
            }
            InheritEnvironment::Only(names) => names.iter().any(|pattern| matches(pattern, name)),
        };
        Self {
            variables: variables.filter(|(name, _)| wanted(name)).collect(),
        }
    }

    /// Returns all inherited variables.
    #[cfg(feature = "functions")]
    pub(crate) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Returns the value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_os_str())
    }

    /// Returns the complete environment of a stage; a later variable of the same name wins.
    pub(crate) fn with<'e>(
        &'e self,
        variables: &'e StageVariables,
        temp_dir: &'e Path,
    ) -> impl Iterator<Item = (&'e OsStr, Cow<'e, OsStr>)> {
        let runner = self.variables.iter();
        let runner = runner.map(|(name, value)| (name.as_os_str(), Cow::Borrowed(&**value)));
        let own = variables.environment.iter();
        let own = own.map(|(name, value)| (OsStr::new(name), Cow::Borrowed(OsStr::new(value))));
        let files = variables.files.iter().map(move |file| {
            let path = temp_dir.join(&file.key).into_os_string();
            (OsStr::new(&file.key), Cow::Owned(path))
        });
        runner.chain(own).chain(files)
    }
}

/// Returns whether `name` is the pattern, or starts with its prefix before a final `*`.
fn matches(pattern: &str, name: &OsStr) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
        None => name == pattern,
    }
}

impl fmt::Debug for RunnerEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.variables.iter().map(|(name, _)| name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::FileVariable;

    fn inherited(inherit: &InheritEnvironment, names: &[&str]) -> Vec<String> {
        let variables = names
            .iter()
            .map(|name| (OsString::from(name), OsString::from("value")));
        let environment = RunnerEnvironment::select(inherit, variables);
        let names = environment
            .variables
            .into_iter()
            .map(|(name, _)| name.into_string().unwrap());
        names.collect()
    }

    #[test]
    fn variables_that_point_elsewhere_are_not_inherited() {
        let names = [
            "PATH",
            "CI",
            "CI_JOB_TOKEN",
            "CIRCLE",
            "GIT_DIR",
            "GIT_NAMESPACE",
            "GIT_CONFIG_COUNT",
            "GIT_EDITOR",
            "PWD",
        ];
        assert_eq!(
            inherited(&InheritEnvironment::All, &names),
            ["PATH", "CIRCLE", "GIT_EDITOR"]
        );
    }

    #[test]
    fn only_what_is_listed_is_inherited() {
        let names = ["PATH", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "LANG"];
        let minimal = InheritEnvironment::minimal();
        assert_eq!(inherited(&minimal, &names), ["PATH", "LC_ALL", "LANG"]);
        assert!(inherited(&InheritEnvironment::Only(Vec::new()), &names).is_empty());
    }

    #[test]
    fn job_variables_come_last() {
        let runner =
            [("A", "runner"), ("B", "runner")].map(|(name, value)| (name.into(), value.into()));
        let runner = RunnerEnvironment::select(&InheritEnvironment::All, runner.into_iter());
        let variables = StageVariables {
            environment: vec![("A".to_owned(), "job".to_owned())],
            files: vec![FileVariable {
                key: "F".to_owned(),
                content: b"secret".to_vec(),
            }],
            ..StageVariables::default()
        };
        let environment: Vec<_> = runner.with(&variables, Path::new("/t")).collect();
        let pairs: Vec<_> = environment
            .iter()
            .map(|(name, value)| (name.to_str().unwrap(), value.to_str().unwrap()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("A", "runner"),
                ("B", "runner"),
                ("A", "job"),
                ("F", "/t/F")
            ]
        );
        assert_eq!(format!("{runner:?}"), r#"["A", "B"]"#);
    }
}
