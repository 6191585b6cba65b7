use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The key of a volume that outlives its job.
///
/// Two jobs share a volume only when all fields are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// The runner: its name, or the short part of its token.
    pub runner: String,
    /// The project: its full path.
    pub project: String,
    /// The job's slot of the runner; concurrent jobs have different ones.
    pub slot: u32,
    /// Whether the job's ref is protected.
    pub protected: bool,
}

impl CacheKey {
    /// Returns the name of the volume at `destination`.
    pub fn volume(&self, destination: &str) -> String {
        let side = if self.protected { "-protected" } else { "" };
        format!("runwright-cache-{}{side}", self.hash(destination))
    }

    /// Returns the directory of the volume at `destination`, below the host's directory `cache_dir`.
    pub fn directory(&self, cache_dir: &str, destination: &str) -> String {
        let side = if self.protected { "-protected" } else { "" };
        let cache_dir = cache_dir.trim_end_matches('/');
        format!("{cache_dir}/{}{side}", self.hash(destination))
    }

    fn hash(&self, destination: &str) -> String {
        let mut hash = Sha256::new();
        let slot = self.slot.to_string();
        let protected = if self.protected { "1" } else { "0" };
        for part in [&self.runner, &self.project, &slot, protected, destination] {
            // The length separates the parts.
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        let mut text = String::with_capacity(32);
        for byte in &hash.finalize()[..16] {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}
