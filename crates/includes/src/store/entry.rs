use crate::{Answer, Digest};
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest entry that is read.
pub(super) const MAX_ENTRY: u64 = 64 << 10;

/// The metadata of an answer, written beside its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The key of the question; also the name of the file.
    pub(super) key: Digest,
    /// The question for people, without secrets.
    pub(super) what: String,
    /// The body; `None` if the answer is that it does not exist.
    pub(super) body: Option<Digest>,
    pub(super) size: u64,
    pub(super) etag: Option<String>,
    /// In milliseconds since 1970.
    pub(super) fetched: u64,
    pub(super) checked: u64,
}

impl Entry {
    /// Reads an entry; `None` if it is damaged or belongs to another question.
    pub(super) fn read(bytes: &[u8], key: Digest) -> Option<Self> {
        let entry: Self = serde_json::from_slice(bytes).ok()?;
        (entry.key == key).then_some(entry)
    }

    pub(super) fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers can be written")
    }
}

pub(super) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time; 1970 if this machine cannot represent it.
pub(super) fn time(millis: u64) -> SystemTime {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(millis));
    time.unwrap_or(UNIX_EPOCH)
}

/// An answer from the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The answer: a body, or that it does not exist.
    pub answer: Answer,
    /// When it was fetched.
    pub fetched: SystemTime,
    /// When the server last confirmed it.
    pub checked: SystemTime,
}

impl StoredAnswer {
    /// Returns the server's name for the body, if it sent one.
    pub fn etag(&self) -> Option<&str> {
        match &self.answer {
            Answer::Body { etag, .. } => etag.as_deref(),
            Answer::Unchanged | Answer::Absent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_read_as_a_time() {
        for number in [0, 1_000, u64::MAX] {
            let read = time(number);
            assert!(read >= UNIX_EPOCH, "{number}");
        }
        assert_eq!(millis(time(1_234)), 1_234);
    }
}
