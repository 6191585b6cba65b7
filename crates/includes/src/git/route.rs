use crate::LibraryError;
use executor_core::job::SecretString;
use gitlab_api::Instance;
use std::fmt::Debug;
use std::path::PathBuf;

/// Returns how the repositories of a GitLab are reached by Git.
///
/// It is called only when something is to be fetched, and must not prompt the user.
pub trait GitRoutes: Debug + Send + Sync {
    /// Returns the route; `None` when Git must not be used.
    fn route(&self, instance: &Instance) -> Option<GitRoute>;
}

/// How the repositories of a GitLab are reached by Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitRoute {
    /// Over SSH.
    Ssh {
        /// The user on the server, `git`.
        user: String,
        /// The host; an IPv6 address has its brackets.
        host: String,
        /// The port, if it is not the one in the user's settings of SSH.
        port: Option<u16>,
    },
    /// Over HTTP.
    Http {
        /// The GitLab.
        instance: Instance,
        /// A file with the certificates of its authority, instead of the system's.
        authority: Option<PathBuf>,
        /// The name and the password. Without them, Git uses netrc and the user's helpers.
        login: Option<(String, SecretString)>,
    },
}

impl GitRoute {
    /// Returns the address of a project's repository.
    ///
    /// # Errors
    ///
    /// When `path` cannot be the path of a project.
    pub fn url(&self, path: &str) -> Result<String, LibraryError> {
        if !is_project(path) {
            return Err(LibraryError::NoProject {
                reason: "this cannot be the path of a project".to_owned(),
                help: None,
            });
        }
        Ok(match self {
            Self::Ssh {
                user,
                host,
                port: Some(port),
            } => format!("ssh://{user}@{host}:{port}/{path}.git"),
            Self::Ssh { user, host, .. } => format!("ssh://{user}@{host}/{path}.git"),
            Self::Http { instance, .. } => format!("{instance}/{path}.git"),
        })
    }
}

/// Returns whether a text can be a project's path. A stranger may have chosen it, and it becomes a part of an address.
fn is_project(path: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with(['-', '.']) && part.chars().all(fits);
    path.len() <= 1024 && path.contains('/') && path.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_made_of_a_project_path_only() {
        let check = |path: &str, expect: Option<&str>| {
            let route = GitRoute::Ssh {
                user: "git".to_owned(),
                host: "h".to_owned(),
                port: Some(2222),
            };
            assert_eq!(route.url(path).ok().as_deref(), expect, "{path}");
        };
        check("g/s/p", Some("ssh://git@h:2222/g/s/p.git"));
        check("gruppe/grün.x", Some("ssh://git@h:2222/gruppe/grün.x.git"));
        check("p", None);
        check("g/../../etc", None);
        check("g/p?x", None);
        check("g/p#x", None);
        check("g/p\nx", None);
        check("g//p", None);
        check("/g/p", None);
        check("g/-p", None);
        check("g/p q", None);
        check("g/$(x)", None);
        check("", None);
    }

    #[test]
    fn http_route_keeps_the_path_of_the_gitlab() {
        let route = GitRoute::Http {
            instance: Instance::parse("https://h:8443/gitlab").expect("an address"),
            authority: None,
            login: None,
        };
        let url = route.url("g/p").expect("an address");
        assert_eq!(url, "https://h:8443/gitlab/g/p.git");
    }
}
