use crate::hosts::bare_name;
use crate::{Origin, Proxies, WebError};
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// The parsed form of [`Proxies`], which chooses the proxy of a request.
#[derive(Debug)]
pub(crate) struct Routes {
    http: Option<Proxy>,
    https: Option<Proxy>,
    except: Vec<Except>,
}

impl Routes {
    /// Parses the addresses of the proxies, and the hosts that are requested without one.
    pub(crate) fn new(proxies: &Proxies) -> Result<Self, WebError> {
        let read = |own: Option<&String>, name: &str| match (own, &proxies.all) {
            (Some(text), _) => Proxy::parse(text, name).map(Some),
            (None, Some(text)) => Proxy::parse(text, "all_proxy").map(Some),
            (None, None) => Ok(None),
        };
        let except = proxies.except.as_deref().unwrap_or_default();
        let except = except.split([',', ' ', '\t', '\n']);
        Ok(Self {
            http: read(proxies.http.as_ref(), "http_proxy")?,
            https: read(proxies.https.as_ref(), "https_proxy")?,
            except: except.filter_map(Except::parse).collect(),
        })
    }

    /// Returns the proxy for a server; `None` if the server is requested directly.
    pub(crate) fn proxy(&self, server: &Origin) -> Option<&Proxy> {
        let proxy = match server.scheme.as_str() {
            "http" => self.http.as_ref()?,
            _ => self.https.as_ref()?,
        };
        let direct = is_here(server) || self.except.iter().any(|except| except.has(server));
        (!direct).then_some(proxy)
    }
}

/// A proxy. It holds the password of its user and never shows it.
#[derive(Clone)]
pub(crate) struct Proxy {
    /// The address in the form that the client expects.
    pub(crate) url: String,
    /// The host in the form in which it is looked up.
    pub(crate) host: String,
    /// Whether the connection to the proxy is encrypted.
    pub(crate) encrypted: bool,
    shown: String,
}

impl Proxy {
    /// Parses the address of a proxy in a variable.
    fn parse(text: &str, variable: &str) -> Result<Self, WebError> {
        let none = || {
            WebError::Setup(format!(
                "`{variable}` is no address of a proxy, as `http://proxy.example:3128` or `socks5://127.0.0.1:1080`"
            ))
        };
        let (scheme, rest) = match text.trim().split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => ("http".to_owned(), text.trim()),
        };
        // The proxy looks up names in any case, so the two schemes for SOCKS mean the same.
        let (scheme, shown, usual) = match scheme.as_str() {
            "http" => ("http", "http", 80),
            "https" => ("https", "https", 443),
            "socks5" | "socks5h" => ("socks5h", "socks5", 1080),
            _ => return Err(none()),
        };
        // Parsed as `http`, so that the same rules apply to the host whatever the scheme is.
        let url = Url::parse(&format!("http://{rest}")).map_err(|_| none())?;
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(none());
        }
        let host = url.host_str().ok_or_else(none)?.to_owned();
        // `url` drops the default port of the scheme that it parsed.
        let written = rest.trim_end_matches('/').ends_with(":80").then_some(80);
        let port = url.port().or(written).unwrap_or(usual);
        let user = match (url.username(), url.password()) {
            ("", None) => String::new(),
            (user, None) => format!("{user}@"),
            (user, Some(password)) => format!("{user}:{password}@"),
        };
        Ok(Self {
            url: format!("{scheme}://{user}{host}:{port}"),
            shown: format!("{shown}://{host}:{port}"),
            encrypted: scheme == "https",
            host,
        })
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxy").field(&self.shown).finish()
    }
}

/// A host that is requested without a proxy: an entry of `no_proxy`.
#[derive(Debug)]
enum Except {
    All,
    Network(IpNet),
    /// A name and all names below it, at one port or all.
    Names(String, Option<u16>),
    /// An address at one port.
    Address(IpAddr, u16),
}

impl Except {
    /// Parses an entry; an invalid one matches no host, as in other programs.
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        if let Ok(network) = text.parse() {
            return Some(Self::Network(network));
        }
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(text).parse::<IpAddr>() {
            return Some(Self::Network(address.into()));
        }
        if let Ok(socket) = text.parse::<std::net::SocketAddr>() {
            return Some(Self::Address(socket.ip(), socket.port()));
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (text, None),
        };
        let name = name.trim_start_matches('*').trim_start_matches('.');
        match Host::parse(name).ok()? {
            Host::Domain(name) => Some(Self::Names(bare_name(&name).to_owned(), port)),
            _ => None,
        }
    }

    fn has(&self, server: &Origin) -> bool {
        match self {
            Self::All => true,
            Self::Network(network) => {
                address(server).is_some_and(|address| network.contains(&address))
            }
            Self::Address(known, port) => server.port == *port && address(server) == Some(*known),
            Self::Names(name, port) => {
                let host = bare_name(&server.host);
                let beneath = host.strip_suffix(name.as_str());
                port.is_none_or(|port| port == server.port)
                    && beneath.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        }
    }
}

/// Returns whether a server is on this machine, where only a local proxy could reach it.
fn is_here(server: &Origin) -> bool {
    let host = bare_name(&server.host);
    address(server).map_or_else(
        || host == "localhost" || host.ends_with(".localhost"),
        |address| address.is_loopback(),
    )
}

fn address(server: &Origin) -> Option<IpAddr> {
    let host = server.host.trim_start_matches('[').trim_end_matches(']');
    host.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(url: &str) -> Origin {
        Origin::of(&Url::parse(url).expect("an address")).expect("a server")
    }

    fn routes(proxies: &Proxies) -> Routes {
        Routes::new(proxies).expect("proxies")
    }

    #[test]
    fn each_scheme_uses_its_own_proxy() {
        let some = |text: &str| Some(text.to_owned());
        let routes = routes(&Proxies {
            http: some("http://a:3128"),
            all: some("socks5://b"),
            ..Proxies::default()
        });
        let via = |url| routes.proxy(&origin(url)).map(ToString::to_string);
        assert_eq!(via("http://x.example"), some("http://a:3128"));
        assert_eq!(via("https://x.example"), some("socks5://b:1080"));
        for here in [
            "http://127.0.0.1:1",
            "http://[::1]",
            "https://localhost",
            "http://a.localhost.",
        ] {
            assert_eq!(via(here), None, "{here}");
        }
    }

    #[test]
    fn excepted_hosts_are_requested_directly() {
        for (except, url, direct) in [
            ("*", "https://x.example", true),
            ("x.example", "https://x.example", true),
            ("x.example", "https://a.x.example", true),
            (".x.example", "https://a.x.example", true),
            ("*.x.example", "https://a.x.example", true),
            ("x.example", "https://evilx.example", false),
            ("X.Example.", "https://x.example", true),
            ("a, x.example", "https://x.example", true),
            ("a x.example", "https://x.example", true),
            ("x.example:443", "https://x.example", true),
            ("x.example:444", "https://x.example", false),
            ("10.0.0.0/8", "https://10.1.2.3", true),
            ("10.0.0.1", "https://10.0.0.1", true),
            ("10.0.0.1:8443", "https://10.0.0.1:8443", true),
            ("10.0.0.1:8443", "https://10.0.0.1", false),
            ("[fd00::1]", "https://[fd00::1]", true),
            ("fd00::/8", "https://[fd00::1]", true),
            ("", "https://x.example", false),
            (",,:,a:b:c", "https://x.example", false),
        ] {
            let routes = routes(&Proxies {
                https: Some("proxy".to_owned()),
                except: Some(except.to_owned()),
                ..Proxies::default()
            });
            assert_eq!(
                routes.proxy(&origin(url)).is_none(),
                direct,
                "{except} {url}"
            );
        }
    }

    #[test]
    fn proxy_addresses_are_parsed() {
        for (text, url, shown) in [
            ("proxy", "http://proxy:80", "http://proxy:80"),
            ("proxy:3128", "http://proxy:3128", "http://proxy:3128"),
            (
                "HTTP://Proxy:3128/",
                "http://proxy:3128",
                "http://proxy:3128",
            ),
            ("https://proxy", "https://proxy:443", "https://proxy:443"),
            ("https://proxy:80", "https://proxy:80", "https://proxy:80"),
            (
                "socks5://127.1",
                "socks5h://127.0.0.1:1080",
                "socks5://127.0.0.1:1080",
            ),
            (
                "socks5h://[::1]:80",
                "socks5h://[::1]:80",
                "socks5://[::1]:80",
            ),
            (
                "http://me:p%40ss@proxy:1",
                "http://me:p%40ss@proxy:1",
                "http://proxy:1",
            ),
        ] {
            let proxy = Proxy::parse(text, "https_proxy").expect(text);
            assert_eq!(
                (proxy.url.as_str(), proxy.to_string().as_str()),
                (url, shown)
            );
            assert!(!format!("{proxy:?}").contains("p%40ss"));
        }
    }

    #[test]
    fn invalid_proxy_is_reported_without_its_password() {
        for text in [
            "ftp://me:hunter2@proxy",
            "http://me:hunter2@",
            "http://me:hunter2@proxy:99999",
            "http://me:hunter2@proxy/path",
            "http://me:hunter2@pro xy",
            "http://",
        ] {
            let error = Proxy::parse(text, "https_proxy")
                .expect_err(text)
                .to_string();
            assert_eq!(
                error,
                "`https_proxy` is no address of a proxy, as `http://proxy.example:3128` or `socks5://127.0.0.1:1080`"
            );
        }
    }
}
