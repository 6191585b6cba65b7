use crate::Digest;
use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The longest file of an entry that is read.
pub(super) const MAX_ENTRY: u64 = 64 << 10;

/// What is written of an answer beside its body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The question's key, which is the file's name too.
    pub(super) key: Digest,
    /// What was asked, for people; without secrets.
    pub(super) what: String,
    /// The body; `None` when there is no such thing.
    pub(super) body: Option<Digest>,
    pub(super) size: u64,
    pub(super) etag: Option<String>,
    /// In milliseconds since 1970.
    pub(super) fetched: u64,
    pub(super) checked: u64,
}

impl Entry {
    /// Reads an entry; nothing when it is none, or one of another question.
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

/// Returns the time; 1970 when the number means none that this machine knows.
pub(super) fn time(millis: u64) -> SystemTime {
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(millis));
    time.unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_too_large_for_a_time() {
        for number in [0, 1_000, u64::MAX] {
            let read = time(number);
            assert!(read >= UNIX_EPOCH, "{number}");
        }
        assert_eq!(millis(time(1_234)), 1_234);
    }
}
