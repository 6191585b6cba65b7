use super::job_key::JobKey;
use content_store::Digest;
use executor_core::{JobProducts, PipelineId, ReusedFrom, TestTotals};
use jiff::Timestamp;
use job_runner::StoredArtifact;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format.
const VERSION: u32 = 1;

/// The reusable result of a successful job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    v: u32,
    /// The name of its key.
    key: String,
    /// The parts of its key.
    pub(super) parts: BTreeMap<String, String>,
    /// The job's name.
    pub(super) job: String,
    /// The run that it is from.
    #[serde(flatten)]
    pub(super) from: ReusedFrom,
    pub(super) artifacts: Vec<StoredArtifact>,
    /// The totals of its junit reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tests: Option<TestTotals>,
    /// The tree with its log alone.
    log: String,
    /// The length of the log.
    log_bytes: u64,
}

impl Entry {
    pub(super) fn new(
        key: &JobKey,
        job: &str,
        from: ReusedFrom,
        artifacts: Vec<StoredArtifact>,
        products: &JobProducts,
        log: Digest,
        log_bytes: u64,
    ) -> Self {
        Self {
            v: VERSION,
            key: key.name.clone(),
            parts: key.parts.clone(),
            job: job.to_owned(),
            from,
            artifacts,
            tests: products.tests.clone(),
            log: log.to_string(),
            log_bytes,
        }
    }

    /// Parses an entry; `None` if it was changed after it was written.
    pub(super) fn parse(text: &[u8], key: &str) -> Option<Self> {
        let (digest, rest) = text.split_at_checked(64)?;
        let digest: Digest = std::str::from_utf8(digest).ok()?.parse().ok()?;
        let json = rest.strip_prefix(b"\n")?;
        if Digest::of(json) != digest {
            return None;
        }
        let entry: Self = serde_json::from_slice(json).ok()?;
        (entry.v == VERSION && entry.key == key).then_some(entry)
    }

    /// Returns its text.
    pub(super) fn to_text(&self) -> Vec<u8> {
        let json = serde_json::to_vec(self).expect("strings and numbers are JSON");
        let mut text = format!("{}\n", Digest::of(&json)).into_bytes();
        text.extend(json);
        text
    }

    /// Returns the trees of its log and of its artifacts; `None` if a digest is invalid.
    pub(super) fn trees(&self) -> Option<Vec<Digest>> {
        let artifacts = self.artifacts.iter().map(StoredArtifact::digest);
        std::iter::once(self.log()).chain(artifacts).collect()
    }

    /// Returns the tree of its log.
    pub(super) fn log(&self) -> Option<Digest> {
        self.log.parse().ok()
    }

    /// Returns the size of its log and artifacts.
    pub(super) fn bytes(&self) -> u64 {
        let artifacts = self.artifacts.iter().map(|it| it.artifact.bytes);
        artifacts.fold(self.log_bytes, u64::saturating_add)
    }

    /// Returns whether any artifact has expired.
    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.artifacts.iter().any(|it| it.is_expired(now))
    }

    /// Returns the results of the job, without dotenv variables.
    pub(super) fn products(&self) -> JobProducts {
        let artifacts = self.artifacts.iter();
        JobProducts {
            artifacts: artifacts.map(|it| it.artifact.clone()).collect(),
            tests: self.tests.clone(),
            ..JobProducts::default()
        }
    }

    /// Returns the pipeline that it is from.
    pub(super) fn pipeline(&self) -> PipelineId {
        self.from.pipeline
    }
}

#[cfg(test)]
mod tests {
    use super::super::job_key::KeyMaker;
    use super::*;

    #[test]
    fn changed_entries_are_rejected() {
        let key = KeyMaker::new(&[0; 32], "job").finish();
        let from = ReusedFrom {
            pipeline: PipelineId(7),
            duration_ms: 12,
        };
        let log = Digest::of(b"log");
        let products = JobProducts::default();
        let entry = Entry::new(&key, "job", from, Vec::new(), &products, log, 3);
        let text = entry.to_text();
        assert_eq!(Entry::parse(&text, &key.name), Some(entry));
        assert_eq!(Entry::parse(&text, "other"), None);
        for at in 0..text.len() {
            let mut damaged = text.clone();
            damaged[at] ^= 1;
            assert_eq!(Entry::parse(&damaged, &key.name), None, "byte {at}");
            assert_eq!(Entry::parse(&text[..at], &key.name), None, "cut at {at}");
        }
    }
}
