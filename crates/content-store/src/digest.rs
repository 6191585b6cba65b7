use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

/// Bytes read at a time.
const PIECE: usize = 64 << 10;

/// A BLAKE3 hash, which names a content or a tree.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(blake3::Hash);

/// The error for a text that is not a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is no digest of 64 hexadecimal digits")]
pub struct NoDigest;

impl Digest {
    /// Returns the digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes))
    }

    /// Returns the digest of all bytes of `reader`.
    ///
    /// # Errors
    ///
    /// When reading fails.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; PIECE];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(Self::of_hasher(&hasher)),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
        }
    }

    /// Returns the bytes of the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    pub(crate) fn of_hasher(hasher: &blake3::Hasher) -> Self {
        Self(hasher.finalize())
    }
}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let digest = blake3::Hash::from_hex(text).map_err(|_| NoDigest)?;
        // A digest has exactly one spelling, in lowercase.
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(NoDigest);
        }
        Ok(Self(digest))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_is_parsed() {
        let digest = Digest::of(b"x");
        let text = digest.to_string();
        assert_eq!(text.parse(), Ok(digest));
        assert_eq!(Digest::of_reader(&b"x"[..]).ok(), Some(digest));
        let others = [
            String::new(),
            text.to_uppercase(),
            text[1..].to_owned(),
            format!("{}/", &text[1..]),
        ];
        for other in others {
            assert_eq!(other.parse::<Digest>(), Err(NoDigest), "{other:?}");
        }
    }
}
