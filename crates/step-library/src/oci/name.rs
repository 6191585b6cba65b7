use crate::error::Error;
use std::fmt;
use url::Url;

/// A repository of images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageName {
    /// The registry as it is called: `docker.io`, `registry.example.com:5000`.
    pub(super) registry: String,
    pub(super) repository: String,
}

/// What names one image of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Label {
    Tag(String),
    Digest(super::digest::Digest),
}

impl ImageName {
    pub(crate) fn parse(registry: &str, repository: &str) -> Result<Self, Error> {
        let is_host = Url::parse(&format!("https://{registry}/")).is_ok_and(|url| {
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
            url.path() == "/" && registry.chars().all(plain) && !registry.is_empty()
        });
        if !is_host {
            // What stands before an `@` may be secret.
            let shown = registry.rsplit('@').next().unwrap_or_default();
            return Err(wrong(shown, "is no host of a registry"));
        }
        if !is_repository(repository) {
            return Err(wrong(
                repository,
                "is no name of a repository: those have small letters, digits and . _ - /",
            ));
        }
        let registry = match registry.to_ascii_lowercase().as_str() {
            "index.docker.io" | "registry-1.docker.io" => "docker.io".to_owned(),
            registry => registry.to_owned(),
        };
        let repository = if registry == "docker.io" && !repository.contains('/') {
            format!("library/{repository}")
        } else {
            repository.to_owned()
        };
        Ok(Self {
            registry,
            repository,
        })
    }

    /// Returns the address of the registry's API, and the one without encryption where that may be used: on this machine,
    /// and of hosts in `insecure`.
    pub(super) fn bases(&self, insecure: &[String]) -> Result<(Url, Option<Url>), Error> {
        let host = match self.registry.as_str() {
            "docker.io" => "registry-1.docker.io",
            registry => registry,
        };
        let bare = bare(host);
        let is_plain = is_here(bare) || insecure.iter().any(|it| it == host || it == bare);
        let address = |scheme: &str| {
            let url = Url::parse(&format!("{scheme}://{host}/v2/"));
            url.map_err(|_| wrong(host, "is no host of a registry"))
        };
        let plain = is_plain.then(|| address("http")).transpose()?;
        Ok((address("https")?, plain))
    }
}

impl Label {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        if text.contains(':') {
            let digest = super::digest::Digest::parse(text);
            return digest.map(Self::Digest).ok_or_else(|| {
                wrong(
                    text,
                    "is no digest, which is sha256: and 64 hexadecimal digits",
                )
            });
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_tag = (1..=128).contains(&text.len())
            && text.chars().all(fits)
            && !text.starts_with(['.', '-']);
        if !is_tag {
            return Err(wrong(text, "is no tag"));
        }
        Ok(Self::Tag(text.to_owned()))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => write!(f, "{digest}"),
        }
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)
    }
}

/// Returns a host without its port.
pub(crate) fn bare(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or(host),
    }
}

/// Returns whether a host is this machine.
fn is_here(host: &str) -> bool {
    host == "localhost"
        || host
            .parse()
            .is_ok_and(|it: std::net::IpAddr| it.is_loopback())
}

fn is_repository(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_part = |part: &str| {
        part.chars().all(fits) && edge(part.chars().next()) && edge(part.chars().last())
    };
    text.len() <= 255 && text.split('/').all(is_part)
}

fn wrong(text: &str, why: &str) -> Error {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    Error::Invalid {
        what: format!("`{shown}`"),
        why: why.to_owned(),
        help: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_registries() {
        let check = |registry: &str, repository: &str, expect: Option<(&str, &str)>| {
            let image = ImageName::parse(registry, repository);
            let base = image.as_ref().ok().map(|image| {
                let bases = image.bases(&["plain.example".to_owned()]).unwrap();
                let base = bases.1.unwrap_or(bases.0);
                (base.to_string(), image.repository.clone())
            });
            let base = base.as_ref().map(|(base, name)| (&**base, &**name));
            assert_eq!(base, expect, "{registry}/{repository}");
        };
        check("h.example", "a/b", Some(("https://h.example/v2/", "a/b")));
        check(
            "H.example:5000",
            "a",
            Some(("https://h.example:5000/v2/", "a")),
        );
        check(
            "localhost:5000",
            "a",
            Some(("http://localhost:5000/v2/", "a")),
        );
        check("127.9.9.9", "a", Some(("http://127.9.9.9/v2/", "a")));
        check("[::1]:80", "a", Some(("http://[::1]/v2/", "a")));
        check(
            "localhost.evil",
            "a",
            Some(("https://localhost.evil/v2/", "a")),
        );
        check(
            "plain.example:81",
            "a",
            Some(("http://plain.example:81/v2/", "a")),
        );
        check(
            "docker.io",
            "busybox",
            Some(("https://registry-1.docker.io/v2/", "library/busybox")),
        );
        for (registry, repository) in [
            ("", "a"),
            ("h/x", "a"),
            ("me@h", "a"),
            ("h?x", "a"),
            ("h", ""),
            ("h", "A"),
            ("h", "../x"),
            ("h", "a//b"),
            ("h", "a?x"),
            ("h", "-a"),
        ] {
            check(registry, repository, None);
        }
    }

    #[test]
    fn labels_are_tags_or_digests() {
        let check = |text: &str, is_label: bool| {
            assert_eq!(Label::parse(text).is_ok(), is_label, "{text}");
        };
        check("1.2.0", true);
        check("latest", true);
        check(&format!("sha256:{}", "a".repeat(64)), true);
        check(&format!("sha256:{}", "g".repeat(64)), false);
        check("sha512:aa", false);
        check("a/b", false);
        check("../x", false);
        check("", false);
        check("-x", false);
    }
}
