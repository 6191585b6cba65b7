use crate::settings::SshServer;
use web::{Origin, Url};

/// Where a repository was cloned from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Remote {
    /// A server of HTTP, and the path there.
    Http {
        /// The server.
        origin: Origin,
        /// The path, without slashes at its ends.
        path: String,
    },
    /// A server of SSH.
    Ssh(SshServer),
}

/// Hosts that are no GitLab, so a remote there says nothing about one.
const OTHERS: [&str; 6] = [
    "bitbucket.org",
    "codeberg.org",
    "dev.azure.com",
    "git.sr.ht",
    "github.com",
    "ssh.dev.azure.com",
];

/// Returns whether the address of a repository names a server that may be a GitLab.
pub(crate) fn may_be_gitlab(url: &str) -> bool {
    Remote::parse(url).is_some()
}

impl Remote {
    /// Reads the address of a repository; nothing when it names no server that may be a GitLab.
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
            // The short form, `git@host:group/project.git`. Two colons name a program of Git's.
            None => {
                let (server, _) = url
                    .split_once(':')
                    .filter(|(host, path)| !host.contains('/') && !path.starts_with(':'))?;
                Self::Ssh(SshServer::parse(server)?)
            }
        };
        (!OTHERS.contains(&read.host())).then_some(read)
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
    fn a_remote_is_read() {
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
