use sha2::{Digest as _, Sha256};
use std::fmt;

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
