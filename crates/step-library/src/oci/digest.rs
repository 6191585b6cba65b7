use sha2::{Digest as _, Sha256};
use std::fmt;

/// The SHA-256 of something, by which it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Digest(String);

impl Digest {
    /// Reads `sha256:` and 64 digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:")?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (hex.len() == 64 && hex.bytes().all(is_hex)).then(|| Self(hex.to_owned()))
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(format!("{:x}", Sha256::digest(bytes)))
    }

    /// Returns that of what was fed to a hasher.
    pub(crate) fn finish(hasher: Sha256) -> Self {
        Self(format!("{:x}", hasher.finalize()))
    }

    pub(crate) fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}
