use crate::error::DockerError;
use std::fmt;
use std::path::PathBuf;

/// An address of the container engine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// A socket of this host: `unix:///var/run/docker.sock`.
    Unix(PathBuf),
    /// A port: `tcp://host:2375`, `http://`, or `https://`.
    Tcp {
        /// The name or number of the host, without brackets.
        host: String,
        /// The port.
        port: u16,
        /// Whether the scheme requires TLS.
        tls: bool,
    },
    /// Through ssh to another host: `ssh://user@host:22`.
    Ssh {
        /// The user there; by default that of ssh.
        user: Option<String>,
        /// The host.
        host: String,
        /// The port; by default that of ssh.
        port: Option<u16>,
        /// The socket there; by default that of the docker command.
        socket: Option<String>,
    },
}

impl Address {
    /// Parses an address in the format of `DOCKER_HOST`.
    ///
    /// # Errors
    ///
    /// When the address is invalid.
    pub fn parse(text: &str) -> Result<Self, DockerError> {
        let wrong = |what: &str| {
            DockerError::config(format!(
                "invalid address of a container engine {:?}: {what}; expected \
                 unix:///var/run/docker.sock, tcp://host:2375 or ssh://user@host",
                shown(text)
            ))
        };
        let text = text.trim();
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(wrong("it has no scheme"));
        };
        match scheme {
            "unix" if rest.starts_with('/') => Ok(Self::Unix(PathBuf::from(rest))),
            "unix" => Err(wrong("the path of the socket does not begin with a slash")),
            "tcp" | "http" | "https" => {
                let (user, host, port) = authority(rest.trim_end_matches('/')).map_err(wrong)?;
                if user.is_some() {
                    return Err(wrong("it cannot name a user"));
                }
                let tls = scheme == "https";
                let port = port.unwrap_or(if tls { 2376 } else { 2375 });
                Ok(Self::Tcp { host, port, tls })
            }
            "ssh" => {
                let (rest, path) = match rest.split_once('/') {
                    Some((rest, path)) => (rest, path),
                    None => (rest, ""),
                };
                let (user, host, port) = authority(rest).map_err(wrong)?;
                let socket = (!path.is_empty()).then(|| format!("/{path}"));
                if socket.as_deref().is_some_and(|path| !is_plain_path(path)) {
                    return Err(wrong(
                        "the path of the socket has characters of a shell in it",
                    ));
                }
                Ok(Self::Ssh {
                    user,
                    host,
                    port,
                    socket,
                })
            }
            "npipe" => Err(wrong("named pipes exist only on Windows")),
            _ => Err(wrong("its scheme is not known")),
        }
    }

    /// Returns whether the engine is certainly on this host.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

/// Returns the beginning of the text, without a possible password.
fn shown(text: &str) -> String {
    let text = match (text.find("://"), text.rfind('@')) {
        (Some(begin), Some(end)) if begin + 3 < end => {
            format!("{}...{}", &text[..begin + 3], &text[end..])
        }
        _ => text.to_owned(),
    };
    text.chars().take(200).collect()
}

/// Returns whether a path needs no quoting in the shell that ssh starts.
fn is_plain_path(path: &str) -> bool {
    path.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
}

type Authority = (Option<String>, String, Option<u16>);

/// Parses `[user@]host[:port]`. No part can look like an option of a program.
fn authority(text: &str) -> Result<Authority, &'static str> {
    let (user, rest) = match text.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, text),
    };
    let (host, port) = if let Some(rest) = rest.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("a bracket is not closed")?;
        host.parse::<std::net::Ipv6Addr>()
            .map_err(|_| "the brackets contain no IPv6 address")?;
        match rest.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if rest.is_empty() => (host, None),
            None => return Err("unexpected text after the bracket"),
        }
    } else {
        match rest.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        }
    };
    let is_word = |text: &str| {
        !text.is_empty()
            && text.len() <= 255
            && !text.starts_with('-')
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-:".contains(&byte))
    };
    if !is_word(host) {
        return Err("the name of the host is missing or has invalid characters");
    }
    if user.is_some_and(|user| user.contains(':') || !is_word(user)) {
        return Err("the name of the user has invalid characters");
    }
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) if port != 0 => Some(port),
        Some(_) => return Err("the port is not a number from 1 to 65535"),
    };
    Ok((user.map(str::to_owned), host.to_owned(), port))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bracketed = |host: &str| {
            if host.contains(':') {
                format!("[{host}]")
            } else {
                host.to_owned()
            }
        };
        match self {
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
            Self::Tcp { host, port, tls } => {
                let scheme = if *tls { "https" } else { "tcp" };
                write!(f, "{scheme}://{}:{port}", bracketed(host))
            }
            Self::Ssh {
                user,
                host,
                port,
                socket,
            } => {
                f.write_str("ssh://")?;
                if let Some(user) = user {
                    write!(f, "{user}@")?;
                }
                f.write_str(&bracketed(host))?;
                if let Some(port) = port {
                    write!(f, ":{port}")?;
                }
                f.write_str(socket.as_deref().unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &str>) {
        match (Address::parse(text), expected) {
            (Ok(address), Ok(expected)) => {
                assert_eq!(address.to_string(), expected);
                assert_eq!(Address::parse(expected).unwrap(), address);
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, _) => panic!("{text:?} gave {found:?}"),
        }
    }

    #[test]
    fn addresses_are_read_and_written() {
        check("unix:///run/d.sock", Ok("unix:///run/d.sock"));
        check(" tcp://host ", Ok("tcp://host:2375"));
        check("tcp://[::1]:99/", Ok("tcp://[::1]:99"));
        check("https://host", Ok("https://host:2376"));
        check("http://10.0.0.1:80", Ok("tcp://10.0.0.1:80"));
        check("ssh://host", Ok("ssh://host"));
        check("ssh://ci@host:2222", Ok("ssh://ci@host:2222"));
        check("ssh://host/run/d.sock", Ok("ssh://host/run/d.sock"));
    }

    #[test]
    fn a_password_is_not_shown() {
        let error = Address::parse("ssh://user:hunter2@host").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn ambiguous_addresses_are_refused() {
        check("", Err("no scheme"));
        check("/var/run/docker.sock", Err("no scheme"));
        check("unix://docker.sock", Err("slash"));
        check("npipe:////./pipe/docker_engine", Err("Windows"));
        check("ftp://host", Err("scheme is not known"));
        check("ssh://-oProxyCommand=id", Err("name of the host"));
        check("ssh://-oProxyCommand=id@host", Err("name of the user"));
        check("ssh://a b@host", Err("name of the user"));
        check("ssh://user:secret@host", Err("name of the user"));
        check("ssh://host;id", Err("name of the host"));
        check("ssh://host/run/$(id)", Err("characters of a shell"));
        check("tcp://", Err("name of the host"));
        check("tcp://host:0", Err("port"));
        check("tcp://host:99999", Err("port"));
        check("tcp://[::1", Err("bracket"));
        check("tcp://[x]:1", Err("brackets"));
        check("tcp://user@host", Err("user"));
    }
}
