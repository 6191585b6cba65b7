use crate::NameError;
use crate::reference::{DEFAULT_REGISTRY, is_path};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::net::Ipv6Addr;

/// A repository of images: a registry and a path there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageRepository {
    registry: String,
    path: String,
}

/// Selects one image of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagOrDigest {
    /// A tag, which may move to another image.
    Tag(String),
    /// A digest.
    Digest(Digest),
}

impl ImageRepository {
    /// Reads a registry, `host` or `host:port`, and a path.
    ///
    /// # Errors
    ///
    /// [`NameError`] when one of them is invalid.
    pub fn parse(registry: &str, path: &str) -> Result<Self, NameError> {
        if !is_host(registry) {
            // The part before an `@` may be secret.
            let shown = registry.rsplit('@').next().unwrap_or_default();
            return Err(NameError::new(shown, "is not the host of a registry"));
        }
        if path.len() > 255 || !is_path(path) {
            let reason =
                "is not the path of a repository: it has lower case letters, digits and . _ - /";
            return Err(NameError::new(path, reason));
        }
        let registry = match registry.to_ascii_lowercase() {
            api if api == "registry-1.docker.io" => DEFAULT_REGISTRY.to_owned(),
            registry => registry,
        };
        Ok(Self::from_parts(&registry, path))
    }

    /// Returns a repository from valid parts. Docker Hub has several names and a default folder.
    pub(crate) fn from_parts(registry: &str, path: &str) -> Self {
        let is_hub = matches!(registry, DEFAULT_REGISTRY | "index.docker.io");
        let path = if is_hub && !path.contains('/') {
            format!("library/{path}")
        } else {
            path.to_owned()
        };
        let registry = if is_hub { DEFAULT_REGISTRY } else { registry };
        Self {
            registry: registry.to_owned(),
            path,
        }
    }

    /// Returns the host of the registry, with its port: `docker.io`, `registry.example.com:5000`.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the path in the registry: `library/busybox`.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for ImageRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)
    }
}

impl TagOrDigest {
    /// Reads a tag, or a digest, which has a colon.
    ///
    /// # Errors
    ///
    /// [`NameError`] when it is neither.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.contains(':') {
            let invalid = "is not a digest, which is sha256: and 64 hexadecimal digits";
            let digest = Digest::parse(text).map(Self::Digest);
            return digest.ok_or_else(|| NameError::new(text, invalid));
        }
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_tag = (1..=128).contains(&text.len())
            && text.chars().all(fits)
            && !text.starts_with(['.', '-']);
        if !is_tag {
            return Err(NameError::new(text, "is not a tag"));
        }
        Ok(Self::Tag(text.to_owned()))
    }
}

impl fmt::Display for TagOrDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => write!(f, "{digest}"),
        }
    }
}

/// Returns a host without its port.
pub fn host_of(registry: &str) -> &str {
    match registry.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, _)) => address,
        None => registry.split(':').next().unwrap_or(registry),
    }
}

/// Returns whether a text is `host`, `host:port` or `[address]:port`.
fn is_host(text: &str) -> bool {
    let end = match text.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, rest)) if address.parse::<Ipv6Addr>().is_ok() => rest,
        Some(_) => return false,
        None => {
            let fits = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
            let end = text.trim_start_matches(fits);
            if end.len() == text.len() || text.starts_with(['.', '-']) {
                return false;
            }
            end
        }
    };
    let port = end.strip_prefix(':');
    end.is_empty() || port.is_some_and(|port| port.parse::<u16>().is_ok())
}

/// A SHA-256 digest, which names a manifest or a blob.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

impl Digest {
    /// Reads `sha256:` and 64 digits.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:")?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (hex.len() == 64 && hex.bytes().all(is_hex)).then(|| Self(hex.to_owned()))
    }

    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("{:x}", Sha256::digest(bytes)))
    }

    /// Returns the digest of the input of a hasher.
    #[cfg(feature = "client")]
    pub(crate) fn finish(hasher: Sha256) -> Self {
        Self(format!("{:x}", hasher.finalize()))
    }

    /// Returns the 64 digits.
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_and_path_are_normalized() {
        let check = |registry: &str, path: &str, expect: Option<&str>| {
            let repository = ImageRepository::parse(registry, path);
            let shown = repository.as_ref().ok().map(ToString::to_string);
            assert_eq!(shown.as_deref(), expect, "{registry}/{path}");
        };
        check("h.example", "a/b", Some("h.example/a/b"));
        check("H.example:5000", "a", Some("h.example:5000/a"));
        check("h", "a", Some("h/a"));
        check("docker_registry:5000", "a", Some("docker_registry:5000/a"));
        check("[::1]:80", "a", Some("[::1]:80/a"));
        check("[::1]", "a", Some("[::1]/a"));
        check("docker.io", "busybox", Some("docker.io/library/busybox"));
        check("index.docker.io", "a/b", Some("docker.io/a/b"));
        check("registry-1.docker.io", "a/b", Some("docker.io/a/b"));
        for (registry, path) in [
            ("", "a"),
            ("h/x", "a"),
            ("me@h", "a"),
            ("h?x", "a"),
            ("h:x", "a"),
            ("[::1]80", "a"),
            ("h:", "a"),
            ("[x]", "a"),
            ("h", ""),
            ("h", "A"),
            ("h", "../x"),
            ("h", "a//b"),
            ("h", "a?x"),
            ("h", "-a"),
        ] {
            check(registry, path, None);
        }
        let error = ImageRepository::parse("me:hunter2@h/x", "a").unwrap_err();
        assert_eq!(error.to_string(), "`h/x` is not the host of a registry");
    }

    #[test]
    fn tags_and_digests_are_distinguished() {
        let check = |text: &str, is_valid: bool| {
            assert_eq!(TagOrDigest::parse(text).is_ok(), is_valid, "{text}");
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
