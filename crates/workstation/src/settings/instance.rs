use executor_core::job::SecretString;
use gitlab_api::{Instance, TokenKind};
use std::path::PathBuf;

/// The user's settings for one GitLab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceSettings {
    /// The GitLab.
    pub instance: Instance,
    /// The source of its token.
    pub token: Option<TokenSource>,
    /// The kind of the token, if set.
    pub token_kind: Option<TokenKind>,
    /// A PEM file with certificate authorities to trust for it.
    pub authority: Option<PathBuf>,
    /// Whether and how Git replaces the API where the API cannot be used.
    pub git: Option<GitUse>,
    /// Its SSH server, if that differs from the host of the GitLab.
    pub ssh: Option<SshServer>,
}

/// The source of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// The settings file itself.
    Given(SecretString),
    /// An environment variable with this name.
    Variable(String),
    /// A file that holds only the token.
    File(PathBuf),
}

/// How Git is used where the API cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GitUse {
    /// Git is not used.
    Never,
    /// Over SSH.
    Ssh,
    /// Over HTTP with the scheme of the GitLab's URL, usually `https`.
    Https,
}

/// The address of an SSH server for Git.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SshServer {
    /// The user to log in as, `git` by default.
    pub user: String,
    /// The host.
    pub host: String,
    /// The port, unless it is the default.
    pub port: Option<u16>,
}

impl SshServer {
    /// Parses `host`, `host:2222` or `user@host`; returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (user, rest) = text.split_once('@').unwrap_or(("git", text));
        let (host, port) = match rest.rsplit_once(':') {
            // An IPv6 address is in brackets, so its last colon does not start a port.
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
