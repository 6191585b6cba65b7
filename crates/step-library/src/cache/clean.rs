use super::Shelf;
use super::shelf::Entry;
use std::io;
use std::time::{Duration, SystemTime};

/// Which entries of the cache are removed. Those in use stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unused {
    /// Those unused for this long.
    Since(Duration),
    /// The least recently used, until no more than this many bytes remain.
    Above(u64),
}

/// The entries that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Their number.
    pub directories: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Removes unused entries from some shelves together. An entry that cannot be removed does not stop the others; its error is
/// returned at the end.
pub(crate) fn clean(shelves: &[Shelf], unused: Unused) -> io::Result<Cleaned> {
    let mut entries: Vec<(&Shelf, Entry)> = Vec::new();
    for shelf in shelves {
        entries.extend(shelf.entries()?.into_iter().map(|entry| (shelf, entry)));
    }
    entries.sort_by_key(|(_, entry)| entry.used);
    let mut remaining: u64 = entries.iter().map(|(_, entry)| entry.bytes).sum();
    let now = SystemTime::now();
    let mut cleaned = Cleaned::default();
    let mut failed = Ok(());
    for (shelf, entry) in entries {
        let is_removed = match unused {
            Unused::Above(bytes) => remaining > bytes,
            Unused::Since(age) => now.duration_since(entry.used).is_ok_and(|it| it >= age),
        };
        if !is_removed {
            break;
        }
        match shelf.remove(&entry.name) {
            Ok(true) => {
                remaining -= entry.bytes;
                cleaned.directories += 1;
                cleaned.bytes += entry.bytes;
            }
            Ok(false) => {}
            Err(error) => failed = failed.and(Err(error)),
        }
    }
    failed.map(|()| cleaned)
}
