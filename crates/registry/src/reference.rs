use crate::{ImageRepository, ReferenceError};
use std::fmt;
use std::str::FromStr;

/// The registry of a reference that names none.
pub(crate) const DEFAULT_REGISTRY: &str = "docker.io";
/// The tag of a reference that names neither tag nor digest.
const DEFAULT_TAG: &str = "latest";
/// How long registry and path together can be.
const MAX_NAME: usize = 255;
/// How long a tag can be.
const MAX_TAG: usize = 128;

/// The name of an image: a registry, a path there, and a tag or a digest.
///
/// The parts that a short name leaves out are filled in, so two names of one image are equal.
///
/// # Examples
///
/// ```
/// use registry::ImageReference;
///
/// let busybox = ImageReference::parse("busybox")?;
/// assert_eq!(busybox.normalized(), "docker.io/library/busybox:latest");
/// assert_eq!(busybox.familiar(), "busybox:latest");
/// assert!(ImageReference::parse("--privileged").is_err());
/// # Ok::<(), registry::ReferenceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageReference {
    repository: ImageRepository,
    tag: Option<String>,
    digest: Option<String>,
}

impl ImageReference {
    /// Reads a reference.
    ///
    /// # Errors
    ///
    /// [`ReferenceError`] with the position of the mistake.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        Parser { text }.parse()
    }

    /// Returns the host of the registry, with its port: `docker.io`, `registry.example:5000`.
    pub fn registry(&self) -> &str {
        self.repository.registry()
    }

    /// Returns the path in the registry: `library/busybox`.
    pub fn path(&self) -> &str {
        self.repository.path()
    }

    /// Returns the registry with the path.
    pub fn repository(&self) -> &ImageRepository {
        &self.repository
    }

    /// Returns the tag; `None` only where a digest stands alone.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest, `sha256:...`.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns the part that selects the image of that name: the digest, or else the tag.
    pub fn tag_or_digest(&self) -> &str {
        let chosen = self.digest().or(self.tag());
        chosen.unwrap_or(DEFAULT_TAG)
    }

    /// Returns registry and path.
    pub fn name(&self) -> String {
        self.repository.to_string()
    }

    /// Returns the complete reference.
    pub fn normalized(&self) -> String {
        self.with_ending(&self.name())
    }

    /// Returns the reference as people write it, without the default registry.
    pub fn familiar(&self) -> String {
        let short = self.with_ending(self.short_name());
        // A path can look like a registry; then the short name would mean another image.
        match Self::parse(&short) {
            Ok(same) if same == *self => short,
            _ => self.normalized(),
        }
    }

    /// Returns the complete reference without a tag beside a digest, so that the tag cannot select another image.
    pub fn exact(&self) -> String {
        match self.digest() {
            Some(digest) => format!("{}@{digest}", self.name()),
            None => self.normalized(),
        }
    }

    fn short_name(&self) -> &str {
        let path = self.path();
        if self.registry() != DEFAULT_REGISTRY {
            return path;
        }
        match path.strip_prefix("library/") {
            Some(name) if !name.contains('/') => name,
            _ => path,
        }
    }

    fn with_ending(&self, name: &str) -> String {
        let mut text = name.to_owned();
        for (mark, part) in [(':', self.tag()), ('@', self.digest())] {
            if let Some(part) = part {
                text.push(mark);
                text.push_str(part);
            }
        }
        text
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.familiar())
    }
}

impl FromStr for ImageReference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

struct Parser<'a> {
    text: &'a str,
}

impl<'a> Parser<'a> {
    fn parse(&self) -> Result<ImageReference, ReferenceError> {
        if self.text.is_empty() {
            return Err(self.wrong(0, "it is empty"));
        }
        let (named, digest) = match self.text.split_once('@') {
            Some((named, digest)) => (named, Some(digest)),
            None => (self.text, None),
        };
        let last = named.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match named[last..].find(':') {
            Some(colon) => (&named[..last + colon], Some(&named[last + colon + 1..])),
            None => (named, None),
        };
        let repository = self.name(name)?;
        if let Some(tag) = tag {
            self.tag(tag)?;
        }
        if let Some(digest) = digest {
            self.digest(digest)?;
        }
        let tag = match (tag, digest) {
            (None, None) => Some(DEFAULT_TAG),
            (tag, _) => tag,
        };
        Ok(ImageReference {
            repository,
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }

    fn name(&self, name: &'a str) -> Result<ImageRepository, ReferenceError> {
        let (registry, path) = match name.split_once('/') {
            Some((first, rest)) if is_registry(first) => (Some(first), rest),
            _ => (None, name),
        };
        if let Some(registry) = registry {
            self.registry(registry)?;
        }
        let mut offset = self.offset_of(path);
        for component in path.split('/') {
            self.path_component(component, offset)?;
            offset += component.len() + 1;
        }
        if name.len() > MAX_NAME {
            return Err(self.wrong(MAX_NAME, "the name is longer than 255 characters"));
        }
        let is_id = path.len() == 64 && path.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id && registry.is_none() {
            return Err(self.wrong(0, "64 hexadecimal digits are an id, not a name"));
        }
        let registry = registry.unwrap_or(DEFAULT_REGISTRY);
        Ok(ImageRepository::from_parts(registry, path))
    }

    fn registry(&self, registry: &str) -> Result<(), ReferenceError> {
        let offset = self.offset_of(registry);
        let (host, port) = if registry.starts_with('[') {
            let end = registry.find(']');
            let end = end.ok_or_else(|| self.wrong(offset, "a bracket is not closed"))?;
            if registry[1..end].parse::<std::net::Ipv6Addr>().is_err() {
                return Err(self.wrong(offset + 1, "the brackets do not hold an IPv6 address"));
            }
            match registry[end + 1..].strip_prefix(':') {
                Some(port) => (None, Some(port)),
                None if end + 1 == registry.len() => (None, None),
                None => return Err(self.wrong(offset + end + 1, "only a port can follow here")),
            }
        } else {
            match registry.split_once(':') {
                Some((host, port)) => (Some(host), Some(port)),
                None => (Some(registry), None),
            }
        };
        let mut begin = offset;
        for label in host.into_iter().flat_map(|host| host.split('.')) {
            self.label(label, begin)?;
            begin += label.len() + 1;
        }
        let Some(port) = port else { return Ok(()) };
        let begin = self.offset_of(port);
        if port.is_empty() {
            return Err(self.wrong(begin, "the port is missing"));
        }
        if let Some(at) = port.bytes().position(|byte| !byte.is_ascii_digit()) {
            return Err(self.wrong(begin + at, "a port has digits only"));
        }
        match port.parse::<u16>() {
            Ok(port) if port > 0 => Ok(()),
            _ => Err(self.wrong(begin, "a port is between 1 and 65535")),
        }
    }

    fn label(&self, label: &str, offset: usize) -> Result<(), ReferenceError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if label.is_empty() {
            return Err(self.wrong(offset, "a part of the registry's name is empty"));
        }
        if let Some(at) = label.bytes().position(|byte| !allowed(byte)) {
            return Err(self.wrong(
                offset + at,
                "this character is not allowed in the name of a registry",
            ));
        }
        if label.starts_with('-') {
            return Err(self.wrong(offset, "a part of the registry's name begins with a hyphen"));
        }
        if label.ends_with('-') {
            let last = offset + label.len() - 1;
            return Err(self.wrong(last, "a part of the registry's name ends with a hyphen"));
        }
        Ok(())
    }

    /// Checks letters and digits with `.`, `_`, `__` or hyphens between them.
    fn path_component(&self, component: &str, offset: usize) -> Result<(), ReferenceError> {
        let bytes = component.as_bytes();
        if bytes.is_empty() {
            return Err(self.wrong(offset, "a part of the path is empty"));
        }
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let mut at = 0;
        while at < bytes.len() {
            if is_word(bytes[at]) {
                at += 1;
                continue;
            }
            if bytes[at].is_ascii_uppercase() {
                return Err(self.wrong(offset + at, "the path must be in lower case"));
            }
            if !b"._-".contains(&bytes[at]) {
                return Err(self.wrong(
                    offset + at,
                    "this character is not allowed in the path of an image",
                ));
            }
            let run = bytes[at..].iter().take_while(|byte| b"._-".contains(byte));
            let separator = &bytes[at..at + run.count()];
            let is_between = at > 0 && at + separator.len() < bytes.len();
            if !is_between {
                let what = "a part of the path must begin and end with a letter or a digit";
                return Err(self.wrong(offset + at, what));
            }
            let is_one = matches!(separator, b"." | b"_" | b"__")
                || separator.iter().all(|byte| *byte == b'-');
            if !is_one {
                let what =
                    "between two letters there can be a dot, one or two underscores, or hyphens";
                return Err(self.wrong(offset + at, what));
            }
            at += separator.len();
        }
        Ok(())
    }

    fn tag(&self, tag: &str) -> Result<(), ReferenceError> {
        let offset = self.offset_of(tag);
        if tag.is_empty() {
            return Err(self.wrong(offset, "the tag is missing"));
        }
        let allowed = |at: usize, byte: u8| {
            byte.is_ascii_alphanumeric() || byte == b'_' || (at > 0 && b".-".contains(&byte))
        };
        let mut bytes = tag.bytes().enumerate();
        if let Some((at, _)) = bytes.find(|(at, byte)| !allowed(*at, *byte)) {
            return Err(self.wrong(offset + at, "this character is not allowed here in a tag"));
        }
        if tag.len() > MAX_TAG {
            return Err(self.wrong(offset + MAX_TAG, "the tag is longer than 128 characters"));
        }
        Ok(())
    }

    fn digest(&self, digest: &str) -> Result<(), ReferenceError> {
        let offset = self.offset_of(digest);
        let Some((algorithm, hex)) = digest.split_once(':') else {
            return Err(self.wrong(offset, "a digest is written sha256:<64 digits>"));
        };
        let length = match algorithm {
            "sha256" => 64,
            "sha384" => 96,
            "sha512" => 128,
            _ => return Err(self.wrong(offset, "the digest must be sha256, sha384 or sha512")),
        };
        let begin = self.offset_of(hex);
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if let Some(at) = hex.bytes().position(|byte| !is_digit(byte)) {
            let what = "a digest has only hexadecimal digits in lower case";
            return Err(self.wrong(begin + at, what));
        }
        if hex.len() != length {
            let at = begin + hex.len().min(length);
            return Err(self.wrong(at, "the digest has the wrong number of digits"));
        }
        Ok(())
    }

    /// Returns the offset of a part of the text.
    fn offset_of(&self, part: &str) -> usize {
        part.as_ptr().addr() - self.text.as_ptr().addr()
    }

    fn wrong(&self, offset: usize, what: &'static str) -> ReferenceError {
        ReferenceError::new(self.text, offset, what)
    }
}

/// Returns whether the part before the first slash is a registry rather than the start of a path.
fn is_registry(text: &str) -> bool {
    text == "localhost"
        || text.contains(['.', ':'])
        || text.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Returns whether a text is the path of an image in a registry.
pub(crate) fn is_path(text: &str) -> bool {
    let parser = Parser { text };
    text.split('/')
        .all(|component| parser.path_component(component, 0).is_ok())
}

#[cfg(test)]
mod tests;
