//! Settings that are refused before anything is connected.

use crate::config::{HostConfig, SshConfig};
use std::borrow::Cow;
use std::net::Ipv6Addr;

/// A setting with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct InvalidSetting {
    /// The index of the host in [`SshConfig::hosts`]; `None` for what all hosts have in common.
    pub host: Option<usize>,
    /// The key, as in a settings file.
    pub key: &'static str,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// The parts of `user@host:port`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HostParts<'t> {
    pub(crate) user: Option<&'t str>,
    pub(crate) host: &'t str,
    pub(crate) port: Option<&'t str>,
}

impl<'t> HostParts<'t> {
    /// Splits `user@host:port`, which may be written as a URL. An IPv6 address with a port is in brackets.
    pub(crate) fn split(text: &'t str) -> Option<Self> {
        let text = text
            .split_once("://")
            .map_or(text, |(_, rest)| rest.trim_end_matches('/'));
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']')?;
                (host, after.strip_prefix(':'))
            }
            None => match place.rsplit_once(':') {
                Some((host, port)) if !host.contains(':') => (host, Some(port)),
                _ => (place, None),
            },
        };
        Some(Self { user, host, port })
    }

    /// Returns whether each part that is there can be right.
    pub(crate) fn are_valid(self) -> bool {
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
        is_name(self.host) && self.user.is_none_or(is_name) && self.port.is_none_or(is_port)
    }
}

/// Returns whether a text can be the name of a host or user: no white space, not an option, not a path.
fn is_name(text: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || "/@[]".contains(c);
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    !text.is_empty()
        && !text.starts_with('-')
        && !text.contains(is_odd)
        && (!text.contains(':') || address.parse::<Ipv6Addr>().is_ok())
}

impl SshConfig {
    /// Checks what can be checked without a connection.
    ///
    /// # Errors
    ///
    /// The first setting that cannot be right.
    pub fn check(&self) -> Result<(), InvalidSetting> {
        let invalid = |host, key, message: Cow<'_, str>| InvalidSetting {
            host,
            key,
            message: message.into_owned(),
        };
        let common = HostConfig {
            host: self.host.clone(),
            proxy_jump: self.proxy_jump.clone(),
            ..HostConfig::default()
        };
        let own = self.hosts.iter().enumerate();
        let own = own.map(|(index, host)| (Some(index), host));
        for (index, host) in [(None, &common)].into_iter().chain(own) {
            host.check()
                .map_err(|(key, message)| invalid(index, key, message.into()))?;
        }
        let nameless = self.hosts.iter().position(|it| it.host.is_none());
        match (&self.host, nameless) {
            (None, Some(index)) => {
                let message = format!("number {} of [[ssh.hosts]] has no `host`", index + 1);
                Err(invalid(Some(index), "host", message.into()))
            }
            (Some(_), None) if !self.hosts.is_empty() => {
                let message = "`host` of [ssh] has no effect, because each of [[ssh.hosts]] has its own: \
                     give it a table [[ssh.hosts]] or leave it out";
                Err(invalid(None, "host", message.into()))
            }
            _ => Ok(()),
        }
    }
}

impl HostConfig {
    /// Returns the first key that cannot be right, and why.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if let Some(host) = &self.host {
            check_host(host).map_err(|message| ("host", message))?;
        }
        let Some(jumps) = self.proxy_jump.as_deref().filter(|it| *it != "none") else {
            return Ok(());
        };
        for jump in jumps.split(',') {
            if !HostParts::split(jump.trim()).is_some_and(HostParts::are_valid) {
                let message = format!("`proxy-jump`: {jump:?} is not of the form user@host:port");
                return Err(("proxy-jump", message));
            }
        }
        Ok(())
    }
}

fn check_host(text: &str) -> Result<(), String> {
    if is_name(text) {
        return Ok(());
    }
    let wrong = format!("`host` is {text:?}, which is not the name or address of a host");
    let Some(parts) = HostParts::split(text).filter(|it| it.are_valid()) else {
        return Err(wrong);
    };
    let mut advice = format!("host = {:?}", parts.host);
    if let Some(user) = parts.user {
        advice = format!("user = {user:?} and {advice}");
    }
    if let Some(port) = parts.port {
        advice = format!("{advice} and port = {port}");
    }
    Err(format!("{wrong}: write {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(host: Option<&str>, jump: Option<&str>, hosts: &[Option<&str>]) -> SshConfig {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let hosts = hosts.iter().map(|host| HostConfig {
            host: owned(*host),
            ..HostConfig::default()
        });
        SshConfig {
            host: owned(host),
            proxy_jump: owned(jump),
            hosts: hosts.collect(),
            ..SshConfig::default()
        }
    }

    #[test]
    fn names_and_addresses_of_hosts_are_accepted() {
        for host in ["build", "b_1.example", "10.0.0.7", "::1", "fe80::1%eth0"] {
            assert_eq!(config(Some(host), None, &[]).check(), Ok(()), "{host}");
        }
        for jump in ["none", "h", "me@h:22,[::1]:23", "a, b", "ssh://u@h:1"] {
            assert_eq!(config(Some("h"), Some(jump), &[]).check(), Ok(()), "{jump}");
        }
        let shared = config(Some("h"), None, &[None, Some("b")]);
        assert_eq!(shared.check(), Ok(()));
    }

    #[test]
    fn other_values_are_refused_with_the_key_that_is_meant() {
        for (host, expect) in [
            ("me@h", r#"write user = "me" and host = "h""#),
            ("h:22", r#"write host = "h" and port = 22"#),
            ("[::1]:22", r#"write host = "::1" and port = 22"#),
            ("[::1]", r#"write host = "::1""#),
            (
                "ssh://me@h:2/",
                r#"write user = "me" and host = "h" and port = 2"#,
            ),
            ("-oX", "not the name or address"),
            ("a b", "not the name or address"),
            ("a:b:c", "not the name or address"),
            ("", "not the name or address"),
        ] {
            let error = config(Some(host), None, &[]).check().unwrap_err();
            assert_eq!((error.host, error.key), (None, "host"), "{host}");
            assert!(error.message.contains(expect), "{host}: {error}");
            let error = config(None, None, &[Some("a"), Some(host)]).check();
            assert_eq!(error.unwrap_err().host, Some(1), "{host}");
        }
        for jump in ["a b", "a,,b", "h:0", "@h", "h:x", "-oX", "[::1"] {
            let error = config(Some("h"), Some(jump), &[]).check().unwrap_err();
            assert_eq!(error.key, "proxy-jump", "{jump}");
        }
        let nameless = config(None, None, &[Some("a"), None]).check().unwrap_err();
        assert_eq!(nameless.message, "number 2 of [[ssh.hosts]] has no `host`");
        let both = config(Some("h"), None, &[Some("a")]).check().unwrap_err();
        assert!(both.message.contains("no effect"), "{both}");
    }
}
