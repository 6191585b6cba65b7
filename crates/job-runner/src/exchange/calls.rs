//! The arguments of helper commands.

use executor_core::JobId;
use executor_core::variable::{JobVariables, without_secrets};
use shells::{HelperArgument, HelperCall};
use std::path::{Component, Path, PathBuf};

/// The variable with the server's address.
pub(super) const URL: &str = "RUNWRIGHT_HELPER_URL";
/// The variable with the token for the server.
pub(super) const TOKEN: &str = "RUNWRIGHT_HELPER_TOKEN";

/// Collects arguments; values that may be secrets become variables.
#[derive(Debug)]
pub(super) struct Calls {
    variables: JobVariables,
    pub(super) environment: Vec<(String, String)>,
}

impl Calls {
    pub(super) fn new(variables: JobVariables) -> Self {
        Self {
            variables,
            environment: Vec::new(),
        }
    }

    /// Adds a variable for the stage.
    pub(super) fn variable(&mut self, name: &str, value: String) {
        self.environment.push((name.to_owned(), value));
    }

    /// Returns an argument with this value.
    pub(super) fn argument(&mut self, value: &str) -> HelperArgument {
        if without_secrets(value, &self.variables) == value {
            return HelperArgument::Text(value.to_owned());
        }
        self.secret(value)
    }

    /// Returns an argument whose value is not in the script.
    pub(super) fn secret(&mut self, value: &str) -> HelperArgument {
        let name = format!("RUNWRIGHT_HELPER_ARGUMENT_{}", self.environment.len());
        self.variable(&name, value.to_owned());
        HelperArgument::Variable(name)
    }

    /// Returns the server of the stage.
    pub(super) fn server() -> Server {
        Server {
            url: HelperArgument::Variable(URL.to_owned()),
            token: HelperArgument::Variable(TOKEN.to_owned()),
        }
    }

    /// Adds `--name value` for each value.
    pub(super) fn options<'v>(
        &mut self,
        arguments: &mut Vec<HelperArgument>,
        name: &str,
        values: impl IntoIterator<Item = &'v String>,
    ) {
        for value in values {
            arguments.push(HelperArgument::Text(format!("--{name}")));
            let value = self.argument(value);
            arguments.push(value);
        }
    }
}

/// A server that keeps files, and the token for it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) url: HelperArgument,
    pub(super) token: HelperArgument,
}

impl Server {
    /// Returns the arguments that name the server and a job.
    pub(super) fn arguments(self, command: &str, job: JobId) -> Vec<HelperArgument> {
        let text = |text: &str| HelperArgument::Text(text.to_owned());
        let Self { url, token } = self;
        let id = text(&job.to_string());
        let (command, names) = (text(command), ["--url", "--token", "--id"].map(text));
        let [url_name, token_name, id_name] = names;
        vec![command, url_name, url, token_name, token, id_name, id]
    }
}

/// Returns a call below a heading.
pub(super) fn call(heading: impl Into<String>, arguments: Vec<HelperArgument>) -> HelperCall {
    HelperCall {
        heading: heading.into(),
        arguments,
    }
}

/// Returns `path` as seen from the directory `from`; both are absolute, else `path` itself.
pub(super) fn relative(from: &Path, path: &Path) -> String {
    if !from.is_absolute() || !path.is_absolute() {
        return path.display().to_string();
    }
    let shared = from.components().zip(path.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
    relative.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    #[test]
    fn paths_are_relative_as_in_gitlab_runner() {
        let check = |from: &str, path: &str, expect: &str| {
            assert_eq!(relative(Path::new(from), Path::new(path)), expect);
        };
        let file = "/w/cache/group/project/k/cache.zip";
        check(
            "/w/builds/group/project",
            file,
            "../../../cache/group/project/k/cache.zip",
        );
        check("/w/p", "/w/p/x", "x");
        check("builds/p", "/cache/x", "/cache/x");
    }

    #[test]
    fn secrets_become_variables() {
        let variables = [JobVariable::masked("T", "hunter2hunter2")];
        let mut calls = Calls::new(variables.into_iter().collect());
        assert_eq!(
            calls.argument("dist"),
            HelperArgument::Text("dist".to_owned())
        );
        let secret = calls.argument("out/hunter2hunter2");
        let name = "RUNWRIGHT_HELPER_ARGUMENT_0".to_owned();
        assert_eq!(secret, HelperArgument::Variable(name.clone()));
        assert_eq!(calls.environment, [(name, "out/hunter2hunter2".to_owned())]);
    }
}
