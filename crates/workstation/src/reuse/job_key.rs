//! The key of a job: a digest of its inputs.

use std::collections::BTreeMap;
use std::fmt;

/// The version of keys. Changing it invalidates all stored results.
const KEY_VERSION: &str = "1";

/// A digest of a job's inputs, and one of each part.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct JobKey {
    /// Its name; the keys of one job have a common prefix.
    pub(super) name: String,
    /// The digests by part.
    pub(super) parts: BTreeMap<String, String>,
}

/// Builds a key, part by part. All digests are keyed with the user's secret, so that a key reveals no input.
pub(super) struct KeyMaker<'s> {
    secret: &'s [u8; 32],
    job: String,
    parts: BTreeMap<String, String>,
}

/// One part of a job's inputs.
pub(super) struct Part(blake3::Hasher);

impl<'s> KeyMaker<'s> {
    /// Starts the key of the job with this name.
    pub(super) fn new(secret: &'s [u8; 32], job: &str) -> Self {
        let mut maker = Self {
            secret,
            job: String::new(),
            parts: BTreeMap::new(),
        };
        maker.part("name", |part| part.add(job.as_bytes()));
        maker.job = job_prefix(secret, job);
        maker
    }

    /// Adds a part.
    pub(super) fn part(&mut self, name: &str, fill: impl FnOnce(&mut Part)) {
        let mut part = Part(blake3::Hasher::new_keyed(self.secret));
        fill(&mut part);
        let digest = part.0.finalize().to_hex().to_string();
        self.parts.insert(name.to_owned(), digest);
    }

    /// Returns the key.
    pub(super) fn finish(self) -> JobKey {
        let mut whole = Part(blake3::Hasher::new_keyed(self.secret));
        whole.add(KEY_VERSION.as_bytes());
        for (name, digest) in &self.parts {
            whole.add(name.as_bytes());
            whole.add(digest.as_bytes());
        }
        JobKey {
            name: format!("{}-{}", self.job, whole.0.finalize().to_hex()),
            parts: self.parts,
        }
    }
}

/// Returns the common prefix of a job's keys.
fn job_prefix(secret: &[u8; 32], job: &str) -> String {
    let mut part = Part(blake3::Hasher::new_keyed(secret));
    part.add(job.as_bytes());
    part.0.finalize().to_hex()[..16].to_owned()
}

impl Part {
    /// Adds bytes with their length, so that different lists have different digests.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds a value as JSON.
    pub(super) fn json(&mut self, value: &impl serde::Serialize) {
        // Serialization of our own types does not fail.
        let bytes = serde_json::to_vec(value);
        self.add(&bytes.unwrap_or_else(|error| error.to_string().into_bytes()));
    }
}

impl JobKey {
    /// Returns the common prefix of its job's keys.
    pub(super) fn job_prefix(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }

    /// Returns the parts that differ from those of another key.
    pub(super) fn changed<'k>(&'k self, other: &BTreeMap<String, String>) -> Vec<&'k str> {
        let parts = self.parts.iter();
        let differs = parts.filter(|(name, digest)| other.get(*name) != Some(*digest));
        differs.map(|(name, _)| &**name).collect()
    }
}

impl fmt::Debug for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobKey").field(&self.name).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8, parts: &[(&str, &[&str])]) -> JobKey {
        let secret = [secret; 32];
        let mut maker = KeyMaker::new(&secret, "job");
        for (name, values) in parts {
            maker.part(name, |part| {
                for value in *values {
                    part.add(value.as_bytes());
                }
            });
        }
        maker.finish()
    }

    #[test]
    fn different_inputs_have_different_keys() {
        let keys = [
            key(1, &[]),
            key(1, &[("a", &[])]),
            key(1, &[("a", &["x", "y"])]),
            key(1, &[("a", &["xy"])]),
            key(1, &[("a", &["x"]), ("b", &["y"])]),
            key(2, &[("a", &["x"]), ("b", &["y"])]),
        ];
        for (at, one) in keys.iter().enumerate() {
            for (other_at, other) in keys.iter().enumerate() {
                assert_eq!(one.name == other.name, at == other_at, "{at} {other_at}");
            }
        }
        let [one, two] = [("x", "y"), ("x", "z")].map(|(a, b)| key(1, &[("a", &[a]), ("b", &[b])]));
        assert_eq!(one.changed(&two.parts), ["b"]);
        assert_eq!(one.job_prefix(), two.job_prefix());
    }
}
