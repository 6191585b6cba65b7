//! Hashes that are the same in every build of the program.

use serde::Serialize;
use std::hash::Hasher;
use std::io;

/// Returns a hash of the value.
pub(crate) fn fingerprint(value: &impl Serialize) -> u64 {
    let mut hash = Fnv::default();
    // Serialization of our own types does not fail.
    let _ = serde_json::to_writer(&mut hash, value);
    hash.finish()
}

/// FNV-1a, since the hashes of std may change with its version.
///
/// It stays, although `blake3` is at hand: the names of the projects' directories in the state are such hashes, and the
/// journals contain those of job definitions. With another function, users would lose their history with an update.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    }
}

impl io::Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Hasher::write(self, bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_fnv_1a() {
        let of = |text: &str| {
            let mut hash = Fnv::default();
            Hasher::write(&mut hash, text.as_bytes());
            hash.finish()
        };
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(fingerprint(&12), of("12"));
    }
}
