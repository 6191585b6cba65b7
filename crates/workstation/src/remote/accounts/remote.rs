use crate::settings::SshServer;
use web::{Origin, Url};

/// The remote of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remote {
    /// An HTTP server and a path.
    Http {
        /// The server.
        origin: Origin,
        /// The path, without slashes at its ends.
        path: String,
    },
    /// An SSH server.
    Ssh(SshServer),
}

/// Hosts that are not a GitLab.
const OTHER_HOSTS: [&str; 6] = [
    "bitbucket.org",
    "codeberg.org",
    "dev.azure.com",
    "git.sr.ht",
    "github.com",
    "ssh.dev.azure.com",
];

/// Returns whether the server of a remote URL may be a GitLab.
pub(crate) fn may_be_gitlab(url: &str) -> bool {
    Remote::parse(url).is_some()
}

impl Remote {
    /// Parses a remote URL; `None` if its server cannot be a GitLab.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let read = match url.split_once("://") {
            Some(("http" | "https", _)) => {
                let url = Url::parse(url).ok()?;
                Self::Http {
                    origin: Origin::of(&url)?,
                    path: url.path().trim_matches('/').to_owned(),
                }
            }
            Some(("ssh" | "git+ssh" | "ssh+git", rest)) => {
                Self::Ssh(SshServer::parse(rest.split('/').next()?)?)
            }
            Some(_) => return None,
            // The short form, `git@host:group/project.git`. Two colons name a remote helper.
            None => {
                let (server, _) = url
                    .split_once(':')
                    .filter(|(host, path)| !host.contains('/') && !path.starts_with(':'))?;
                Self::Ssh(SshServer::parse(server)?)
            }
        };
        (!OTHER_HOSTS.contains(&read.host())).then_some(read)
    }

    /// Returns the host.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::Http { origin, .. } => &origin.host,
            Self::Ssh(server) => &server.host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_remotes() {
        let check = |url: &str, expect: Option<&str>| {
            let read = Remote::parse(url).map(|remote| match remote {
                Remote::Http { origin, path } => format!("{origin} {path}"),
                Remote::Ssh(SshServer { user, host, port }) => format!("{user} {host} {port:?}"),
            });
            assert_eq!(read.as_deref(), expect, "{url}");
        };
        check("https://H/g/p.git", Some("https://h g/p.git"));
        check("http://h:8080/r/g/p", Some("http://h:8080 r/g/p"));
        check("git@h:g/p.git", Some("git h None"));
        check("h:g/p.git", Some("git h None"));
        check("ssh://me@h:2222/g/p.git", Some("me h Some(2222)"));
        check("ssh://[::1]:22/g/p.git", Some("git [::1] Some(22)"));
        check("git@github.com:o/r.git", None);
        check("https://github.com/o/r", None);
        check("file:///srv/p.git", None);
        check("ext::sh -c x", None);
        check("ssh://-oProxyCommand=x/g/p", None);
        check("../p", None);
        check("", None);
    }
}
