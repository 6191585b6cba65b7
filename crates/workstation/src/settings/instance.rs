use executor_core::job::SecretString;
use gitlab_api::{Instance, TokenKind};
use std::path::PathBuf;

/// What the user says about one GitLab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceSettings {
    /// The GitLab.
    pub instance: Instance,
    /// Where its token is.
    pub token: Option<TokenSource>,
    /// What kind of token it is, if that is said.
    pub token_kind: Option<TokenKind>,
    /// A file with certificates, in PEM, that sign for it.
    pub authority: Option<PathBuf>,
    /// Whether Git is asked where the API does not answer, and how.
    pub git: Option<GitUse>,
    /// Where its Git answers to SSH, if not at the host of the GitLab.
    pub ssh: Option<SshServer>,
}

/// Where a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// Here.
    Given(SecretString),
    /// In a variable of the environment.
    Variable(String),
    /// In a file, alone.
    File(PathBuf),
}

/// How Git is asked where the API does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitUse {
    /// Not at all.
    Never,
    /// Over SSH.
    Ssh,
    /// Over HTTP, as the GitLab is reached: `https`, for nearly all.
    Https,
}

/// Where a Git answers to SSH.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshServer {
    /// As whom one comes, `git`.
    pub user: String,
    /// The host.
    pub host: String,
    /// The port, if it is not the usual one.
    pub port: Option<u16>,
}

impl SshServer {
    /// Returns the server that `host`, `host:2222` or `user@host` means; nothing when it means none.
    pub fn parse(text: &str) -> Option<Self> {
        let (user, rest) = text.split_once('@').unwrap_or(("git", text));
        let (host, port) = match rest.rsplit_once(':') {
            // An address of IPv6 has its brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().ok()?)),
            _ => (rest, None),
        };
        let is_name = |text: &str, more: &[u8]| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
            !text.is_empty() && !text.starts_with('-') && text.bytes().all(fits)
        };
        let is_host = match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
            None => is_name(host, b".-_"),
        };
        (is_host && is_name(user, b".-_") && port != Some(0)).then(|| Self {
            user: user.to_owned(),
            host: host.to_ascii_lowercase(),
            port,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_ssh_is_a_name_and_never_an_option() {
        let check = |given: &str, expect: Option<(&str, &str, Option<u16>)>| {
            let read = SshServer::parse(given);
            let read = read.as_ref();
            let read = read.map(|it| (&*it.user, &*it.host, it.port));
            assert_eq!(read, expect, "{given}");
        };
        check("ssh.example.com", Some(("git", "ssh.example.com", None)));
        check("Host:2222", Some(("git", "host", Some(2222))));
        check("me@host", Some(("me", "host", None)));
        check("[::1]:22", Some(("git", "[::1]", Some(22))));
        check("[::1]", Some(("git", "[::1]", None)));
        check("-oProxyCommand=x", None);
        check("-x@host", None);
        check("host:0", None);
        check("host:x", None);
        check("a b", None);
        check("", None);
    }
}
