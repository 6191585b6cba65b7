use crate::WebError;
use ipnet::IpNet;
use std::net::IpAddr;
use url::Host;

/// Hosts in a setting of the user: a name, all names below one, an address, or a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// This name.
    Name(String),
    /// All names with this suffix, which starts with a dot.
    Beneath(String),
    /// All hosts with an address in this network.
    Network(IpNet),
}

impl Hosts {
    /// Parses an entry of the setting `setting`.
    pub(crate) fn parse(text: &str, setting: &str) -> Result<Self, WebError> {
        let none = || {
            WebError::Setup(format!(
                "`{text}` in {setting} is no host, address or network"
            ))
        };
        let text = text.trim();
        if let Ok(network) = text.parse::<IpNet>() {
            return Ok(Self::Network(network.trunc()));
        }
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(text).parse::<IpAddr>() {
            return Ok(Self::Network(address.into()));
        }
        let (name, beneath) = match text.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        // `url` normalizes names: lower case, Punycode, no percent-encoding.
        match Host::parse(name).map_err(|_| none())? {
            Host::Domain(name) if name.contains('*') => Err(none()),
            Host::Domain(name) if beneath => Ok(Self::Beneath(format!(".{}", bare_name(&name)))),
            Host::Domain(name) => Ok(Self::Name(bare_name(&name).to_owned())),
            _ => Err(none()),
        }
    }

    /// Returns whether the entry matches a name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let name = bare_name(name);
        match self {
            Self::Name(known) => known == name,
            Self::Beneath(end) => name.ends_with(end.as_str()),
            Self::Network(_) => false,
        }
    }

    /// Returns whether the entry matches an address.
    pub(crate) fn has_address(&self, address: IpAddr) -> bool {
        matches!(self, Self::Network(network) if network.contains(&address))
    }

    /// Returns whether the entry matches this address and no other.
    pub(crate) fn is_address(&self, address: IpAddr) -> bool {
        matches!(self, Self::Network(network) if *network == IpNet::from(address))
    }
}

/// Returns whether a text is an entry of [`Reach`](crate::Reach): a host, all hosts below one
/// (`*.example.com`), an address or a network.
pub fn names_hosts(text: &str) -> bool {
    Hosts::parse(text, "").is_ok()
}

/// Returns a name without its trailing dot.
pub(crate) fn bare_name(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Returns whether a name is one that a cloud gives its metadata service.
pub(crate) fn is_metadata_name(name: &str) -> bool {
    matches!(
        bare_name(name),
        "metadata.google.internal" | "metadata.goog"
    )
}

/// Returns whether a name always means this machine or its metadata service, whatever resolver looks it up.
pub(crate) fn is_own_name(name: &str) -> bool {
    const OWN: [&str; 5] = [
        "localhost",
        "localhost.localdomain",
        "ip6-localhost",
        "ip6-loopback",
        "metadata",
    ];
    let name = bare_name(name);
    OWN.contains(&name) || is_metadata_name(name) || name.ends_with(".localhost")
}

/// Returns whether a name is outside the public network, judged by the name alone.
pub(crate) fn is_inner_name(name: &str) -> bool {
    const INNER: [&str; 6] = [
        ".internal",
        ".local",
        ".localdomain",
        ".home.arpa",
        ".lan",
        ".intranet",
    ];
    let name = bare_name(name);
    is_own_name(name) || !name.contains('.') || INNER.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_parsed_from_every_notation() {
        let read = |text| Hosts::parse(text, "allow-private");
        for (text, name, expect) in [
            ("gitlab.corp", "gitlab.corp", true),
            ("GitLab.Corp.", "gitlab.corp", true),
            ("gitlab.corp", "gitlab.corp.", true),
            ("gitlab.corp", "x.gitlab.corp", false),
            ("gitlab.corp", "evil-gitlab.corp", false),
            ("*.corp", "gitlab.corp", true),
            ("*.corp", "a.b.corp", true),
            ("*.corp", "corp", false),
            ("*.corp", "evilcorp", false),
            ("bücher.example", "xn--bcher-kva.example", true),
        ] {
            let hosts = read(text).expect("hosts");
            assert_eq!(hosts.has_name(name), expect, "{text} {name}");
        }
        for (text, address, expect) in [
            ("10.0.0.0/8", "10.1.2.3", true),
            ("10.9.9.9/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1", "10.0.0.2", false),
            ("fd00::/8", "fd12::1", true),
            ("[::1]", "::1", true),
            ("::1", "::1", true),
            ("0.0.0.0/0", "fd12::1", false),
        ] {
            let (hosts, address) = (read(text).expect("hosts"), address.parse());
            assert_eq!(
                hosts.has_address(address.expect("an address")),
                expect,
                "{text}"
            );
        }
        for text in [
            "",
            "*",
            "*.*",
            "10.0.0.0/40",
            "a b",
            "https://a",
            "*.10.0.0.1",
            "a/8",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_are_classified_without_a_lookup() {
        for (name, own, inner) in [
            ("localhost", true, true),
            ("localhost.", true, true),
            ("a.localhost", true, true),
            ("metadata.google.internal", true, true),
            ("intranet", false, true),
            ("printer.local", false, true),
            ("db.internal.", false, true),
            ("gitlab.com", false, false),
            ("local.example", false, false),
            ("notlocalhost.example", false, false),
        ] {
            assert_eq!(
                (is_own_name(name), is_inner_name(name)),
                (own, inner),
                "{name}"
            );
        }
    }
}
