use crate::LibraryError;
use executor_core::job::SecretString;
use gitlab_api::Instance;
use std::fmt::Debug;
use std::path::PathBuf;

/// Says how the repositories of a GitLab are reached by Git.
///
/// It is asked only when something is to be fetched, and must not ask the user anything.
pub trait GitWays: Debug + Send + Sync {
    /// Returns the way; nothing when Git is not to be asked.
    fn way(&self, instance: &Instance) -> Option<GitWay>;
}

/// How the repositories of a GitLab are reached by Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitWay {
    /// Over SSH.
    Ssh {
        /// As whom, `git`.
        user: String,
        /// The host; an IPv6 address has its brackets.
        host: String,
        /// The port, if it is not the one that the user's settings of SSH say.
        port: Option<u16>,
    },
    /// Over HTTP.
    Http {
        /// Where.
        instance: Instance,
        /// A file with the certificates that sign for it, instead of the system's.
        authority: Option<PathBuf>,
        /// Who asks: the name and the password. Without it, netrc and the user's helpers are asked.
        login: Option<(String, SecretString)>,
    },
}

impl GitWay {
    /// Returns the address of a project's repository.
    ///
    /// # Errors
    ///
    /// When `path` is none of a project.
    pub fn url(&self, path: &str) -> Result<String, LibraryError> {
        if !is_project(path) {
            return Err(LibraryError::NoProject {
                reason: "this is no path of a project".to_owned(),
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

/// Returns whether a text is a project's path: whoever wrote the file chose it, and it becomes a part
/// of an address.
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
    fn an_address_is_made_of_a_project_and_of_nothing_else() {
        let check = |path: &str, expect: Option<&str>| {
            let way = GitWay::Ssh {
                user: "git".to_owned(),
                host: "h".to_owned(),
                port: Some(2222),
            };
            assert_eq!(way.url(path).ok().as_deref(), expect, "{path}");
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
    fn a_way_over_http_keeps_the_path_of_the_gitlab() {
        let way = GitWay::Http {
            instance: Instance::parse("https://h:8443/gitlab").expect("an address"),
            authority: None,
            login: None,
        };
        let url = way.url("g/p").expect("an address");
        assert_eq!(url, "https://h:8443/gitlab/g/p.git");
    }
}
