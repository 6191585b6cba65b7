use std::fmt;
use url::Url;

/// A server as a browser distinguishes them: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// `http` or `https`.
    pub scheme: String,
    /// The host, in lower case; an IPv6 address keeps its brackets.
    pub host: String,
    /// The port, even if it is the scheme's default.
    pub port: u16,
}

impl Origin {
    /// Returns the server of an address; `None` if the scheme is not `http` or `https`.
    pub fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        Some(Self {
            scheme: url.scheme().to_owned(),
            host: url.host_str()?.to_owned(),
            port: url.port_or_known_default()?,
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port } = self;
        match (scheme.as_str(), port) {
            ("http", 80) | ("https", 443) => write!(f, "{scheme}://{host}"),
            _ => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

/// Returns the part of an address that is safe to show: without user, password, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let server = Origin::of(url).map(|server| server.to_string());
    let server = server.unwrap_or_else(|| format!("{}:", url.scheme()));
    format!("{server}{}", url.path())
}
