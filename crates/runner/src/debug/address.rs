use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};
use std::str::FromStr;
use web::Url;

/// The port if an address has none.
const PORT: u16 = 9252;

/// An address to listen on, as `listen_address` has it: `HOST:PORT`, `HOST`, or `:PORT` for all interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListenAddress {
    /// A name or an address; empty for all interfaces.
    host: String,
    port: u16,
}

/// The error of an address that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected HOST:PORT, such as \"localhost:9252\" or \":9252\", found {0:?}")]
pub struct ListenAddressError(String);

impl ListenAddress {
    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address for clients, with this port; `None` for all interfaces.
    pub(crate) fn https_url(&self, port: u16) -> Option<Url> {
        let address: Option<IpAddr> = self.host.parse().ok();
        if self.host.is_empty() || address.is_some_and(|it| it.is_unspecified()) {
            return None;
        }
        let host = self.host.clone();
        Url::parse(&format!("https://{}", Self { host, port })).ok()
    }

    /// Listens on the address. May block while a name is resolved.
    ///
    /// # Errors
    ///
    /// When the name is not known, or the port is used or reserved.
    pub fn bind(&self) -> io::Result<TcpListener> {
        let listener = if self.host.is_empty() {
            // This includes IPv4, except on hosts without IPv6.
            TcpListener::bind((Ipv6Addr::UNSPECIFIED, self.port)).or_else(|error| {
                if error.kind() == io::ErrorKind::AddrInUse {
                    return Err(error);
                }
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, self.port))
            })
        } else {
            TcpListener::bind((&*self.host, self.port))
        }?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, ListenAddressError> {
        let invalid = || ListenAddressError(text.to_owned());
        let (host, port) = match text.rsplit_once(':') {
            // An address of IPv6 without a port.
            Some(_) if text.ends_with(']') => (text, ""),
            Some((host, port)) => (host, port),
            None => (text, ""),
        };
        let host = match host.strip_prefix('[') {
            Some(rest) => {
                let inside = rest.strip_suffix(']').ok_or_else(invalid)?;
                let address: Ipv6Addr = inside.parse().map_err(|_| invalid())?;
                address.to_string()
            }
            None => host.to_owned(),
        };
        let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '_');
        let is_v6 = host.parse::<Ipv6Addr>().is_ok();
        if text.is_empty() || !(is_v6 || host.chars().all(is_name)) {
            return Err(invalid());
        }
        let port = match port {
            "" => PORT,
            digits if digits.bytes().all(|it| it.is_ascii_digit()) => {
                digits.parse().map_err(|_| invalid())?
            }
            _ => return Err(invalid()),
        };
        Ok(Self { host, port })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_may_be_missing() {
        let check = |text: &str, expect: &str| {
            let address: ListenAddress = text.parse().expect(text);
            assert_eq!(address.to_string(), expect, "of {text}");
        };
        check(":9253", ":9253");
        check(":", ":9252");
        check("localhost", "localhost:9252");
        check("127.0.0.1:80", "127.0.0.1:80");
        check("[::1]", "[::1]:9252");
        check("[::1]:80", "[::1]:80");
        check("runner-1.example:0", "runner-1.example:0");
    }

    #[test]
    fn other_texts_are_not_addresses() {
        for text in [
            "",
            "localhost:http",
            "localhost:65536",
            "localhost:+80",
            "http://localhost",
            "::1",
            "[::1",
            "[name]:80",
            "a b",
            "a:1:2",
        ] {
            assert!(text.parse::<ListenAddress>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_used_port_is_an_error() {
        let any: ListenAddress = "127.0.0.1:0".parse().expect("an address");
        let first = any.bind().expect("a listener");
        let used = first.local_addr().expect("an address").to_string();
        let used: ListenAddress = used.parse().expect("an address");
        let error = used.bind().expect_err("the port is used");
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
