use crate::NameError;
use serde::Deserialize;
use std::fmt;

/// An operating system and an architecture, `linux/arm64/v8`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Platform {
    /// The operating system.
    pub os: String,
    /// The architecture, in the words of images: `amd64`, `arm64`.
    pub architecture: String,
    /// Its variant.
    pub variant: Option<String>,
}

impl Platform {
    /// Reads `os/architecture[/variant]`.
    ///
    /// # Errors
    ///
    /// [`NameError`] when it is not a platform.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let wrong = || {
            let reason = "is not a platform; write linux/amd64 or linux/arm64/v8";
            NameError::new(text, reason)
        };
        let is_word = |word: &str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            let starts_well = word.starts_with(|c: char| c.is_ascii_alphanumeric());
            starts_well && word.len() <= 32 && word.bytes().all(allowed)
        };
        let words: Vec<&str> = text.split('/').collect();
        if !words.iter().copied().all(is_word) {
            return Err(wrong());
        }
        let (os, architecture, variant) = match words[..] {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some(variant)),
            _ => return Err(wrong()),
        };
        Ok(Self::new(os, architecture, variant))
    }

    /// Returns a platform from its parts, with the names that images use for architectures.
    pub fn new(os: &str, architecture: &str, variant: Option<&str>) -> Self {
        let architecture = architecture.to_ascii_lowercase();
        let (architecture, implied) = match architecture.as_str() {
            "x86_64" | "x86-64" => ("amd64", None),
            "aarch64" => ("arm64", None),
            "armhf" | "armv7l" => ("arm", Some("v7")),
            "armel" => ("arm", Some("v6")),
            "i386" | "i686" => ("386", None),
            architecture => (architecture, None),
        };
        Self {
            os: os.to_ascii_lowercase(),
            architecture: architecture.to_owned(),
            variant: variant.or(implied).map(str::to_ascii_lowercase),
        }
    }

    /// Returns whether an image for one platform suits the other. An unknown part suits every other.
    pub fn matches(&self, other: &Self) -> bool {
        let same = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
        let variants = self.variant.as_ref().zip(other.variant.as_ref());
        same(&self.os, &other.os)
            && same(&self.architecture, &other.architecture)
            && variants.is_none_or(|(one, other)| one == other)
    }

    /// Returns how well an image for `image` suits this platform; `None` when it does not. The same variant is better than
    /// an unknown one.
    pub fn fit(&self, image: &Self) -> Option<u8> {
        let is_same = self.os == image.os && self.architecture == image.architecture;
        if !is_same || !self.matches(image) {
            return None;
        }
        Some(if self.variant == image.variant { 2 } else { 1 })
    }

    /// Returns a name for a directory.
    pub fn directory_name(&self) -> String {
        self.to_string().replace('/', "-")
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_parts_match() {
        let check = |one: &str, other: &str, expected: bool| {
            let one = Platform::parse(one).unwrap();
            let matches = one.matches(&Platform::parse(other).unwrap());
            assert_eq!(matches, expected, "{one} and {other}");
        };
        check("linux/amd64", "linux/x86_64", true);
        check("linux/arm64", "linux/arm64/v8", true);
        check("linux/arm/v6", "linux/arm/v7", false);
        check("linux/amd64", "linux/arm64", false);
        check("linux/amd64", "windows/amd64", false);
    }

    #[test]
    fn same_variant_fits_best() {
        let check = |wanted: &str, image: &str, expect: Option<u8>| {
            let (wanted, image) = (Platform::parse(wanted), Platform::parse(image));
            assert_eq!(wanted.unwrap().fit(&image.unwrap()), expect);
        };
        check("linux/amd64", "linux/amd64", Some(2));
        check("linux/arm64", "linux/arm64/v8", Some(1));
        check("linux/arm/v7", "linux/arm/v7", Some(2));
        check("linux/arm/v7", "linux/arm/v6", None);
        check("linux/amd64", "linux/arm64", None);
        check("linux/amd64", "windows/amd64", None);
    }

    #[test]
    fn invalid_platforms_are_refused() {
        for text in [
            "",
            "linux",
            "linux/",
            "a/b/c/d",
            "linux/a b",
            "linux/&x=1",
            "../x",
        ] {
            let error = Platform::parse(text).unwrap_err();
            assert!(error.to_string().contains("not a platform"), "{error}");
        }
    }
}
