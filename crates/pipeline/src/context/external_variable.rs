use executor_core::variable::JobVariable;
use serde::Serialize;
use std::fmt;

/// A variable from outside the pipeline file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalVariable {
    /// The variable.
    pub variable: JobVariable,
    /// Its level, which determines its precedence.
    pub level: Level,
    /// The environments whose jobs receive it; `*` matches any text.
    pub scope: String,
    /// Whether only pipelines of protected branches and tags receive it.
    pub is_protected: bool,
    /// Its origin.
    pub source: ExternalSource,
}

/// The level of a variable; later levels override earlier ones, and all of them the pipeline file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The whole server; also variables that a user sets for all projects.
    Instance,
    /// The group of the project.
    Group,
    /// The project; also secrets.
    Project,
    /// This pipeline only.
    Pipeline,
}

/// The origin of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalSource {
    /// An option of the command line.
    Option(String),
    /// A line of a file.
    File {
        /// The file, as the user knows it.
        path: String,
        /// The line, from 1.
        line: u32,
    },
    /// The settings of a GitLab.
    Server {
        /// The URL of the GitLab.
        server: String,
        /// The full path of the project or group there; absent for the server itself.
        path: Option<String>,
    },
}

/// The scope of a variable for all jobs.
const EVERYWHERE: &str = "*";

impl ExternalVariable {
    /// Returns a variable of this level for all jobs, set by a command-line option.
    pub fn of_option(option: impl Into<String>, level: Level, variable: JobVariable) -> Self {
        Self {
            variable,
            level,
            scope: EVERYWHERE.to_owned(),
            is_protected: false,
            source: ExternalSource::Option(option.into()),
        }
    }

    /// Returns a variable set by `--variable`.
    pub fn of_pipeline(variable: JobVariable) -> Self {
        Self::of_option("--variable", Level::Pipeline, variable)
    }

    /// Returns a variable set by `--secret`.
    pub fn of_secret(variable: JobVariable) -> Self {
        Self::of_option("--secret", Level::Project, variable)
    }

    /// Returns how close its origin is to the project: inner groups of a GitLab are closer than
    /// outer ones, and the user is closest.
    pub(super) fn nearness(&self) -> usize {
        match &self.source {
            ExternalSource::Server { path, .. } => {
                let path = path.as_deref().unwrap_or_default();
                path.split('/').count()
            }
            ExternalSource::Option(_) | ExternalSource::File { .. } => usize::MAX,
        }
    }

    /// Returns how specifically its scope matches the environment of a job: absent when it does not
    /// match, and higher for a more specific scope.
    ///
    /// Without an environment only the scope of all jobs matches.
    pub fn scope_match(&self, environment: Option<&str>) -> Option<usize> {
        if self.scope == EVERYWHERE {
            return Some(0);
        }
        let environment = environment?;
        if self.scope == environment {
            return Some(usize::MAX);
        }
        let is_match = matches_scope(&self.scope, environment);
        is_match.then(|| {
            self.scope
                .bytes()
                .filter(|&byte| byte != b'*')
                .count()
                .max(1)
        })
    }
}

/// Returns whether `text` matches `scope`, in which `*` matches any text. Scopes of environments
/// and the names of protected branches and tags are matched this way.
pub fn matches_scope(scope: &str, text: &str) -> bool {
    let mut parts = scope.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

impl fmt::Display for ExternalSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name) => write!(f, "{name}"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Server { server, path } => {
                let name = server.split_once("://").map_or(&**server, |(_, name)| name);
                match path {
                    Some(path) => write!(f, "{path} on {name}"),
                    None => write!(f, "{name}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_match_environments() {
        let check = |scope: &str, environment: Option<&str>, expect: Option<usize>| {
            let given = ExternalVariable {
                scope: scope.to_owned(),
                ..ExternalVariable::of_secret(JobVariable::public("A", "a"))
            };
            assert_eq!(
                given.scope_match(environment),
                expect,
                "{scope} and {environment:?}"
            );
        };
        check("*", None, Some(0));
        check("review/*", None, None);
        check("review/*", Some("review/a"), Some(7));
        check("review/*", Some("production"), None);
        check("*/a", Some("review/a"), Some(2));
        check("r*w/*a", Some("review/beta"), Some(4));
        check("ab*ba", Some("aba"), None);
        check("production", Some("production"), Some(usize::MAX));
        check("production", Some("prod"), None);
        check("Production", Some("production"), None);
    }
}
