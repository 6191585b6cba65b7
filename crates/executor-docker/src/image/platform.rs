use crate::error::DockerError;
use std::fmt;

/// A system and an architecture, `linux/arm64/v8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Platform {
    /// The system.
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
    /// Fails when it is none.
    pub fn parse(text: &str) -> Result<Self, DockerError> {
        let wrong = || {
            let shown: String = text.chars().take(60).collect();
            DockerError::config(format!(
                "{shown:?} is no platform; write linux/amd64 or linux/arm64/v8"
            ))
        };
        let is_word = |word: &str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            !word.is_empty() && word.len() <= 32 && word.bytes().all(allowed)
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

    pub(crate) fn new(os: &str, architecture: &str, variant: Option<&str>) -> Self {
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

    /// Returns whether what is for one platform is for the other. What nobody says is no difference.
    pub(crate) fn matches(&self, other: &Self) -> bool {
        let same = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
        let variants = self.variant.as_ref().zip(other.variant.as_ref());
        same(&self.os, &other.os)
            && same(&self.architecture, &other.architecture)
            && variants.is_none_or(|(one, other)| one == other)
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
    fn platforms_are_compared_by_what_is_said() {
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
    fn what_is_no_platform_is_refused() {
        for text in ["", "linux", "linux/", "a/b/c/d", "linux/a b", "linux/&x=1"] {
            let error = Platform::parse(text).unwrap_err();
            assert!(error.to_string().contains("no platform"), "{error}");
        }
    }
}
