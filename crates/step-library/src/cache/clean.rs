use super::Shelf;
use super::shelf::Entry;
use std::io;
use std::time::{Duration, SystemTime};

/// What of the cache is to go. What is in use stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unused {
    /// What nobody has used for so long.
    Since(Duration),
    /// What nobody has used for the longest time, until no more than so many bytes are left.
    Above(u64),
}

/// What went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// How many directories.
    pub directories: usize,
    /// How many bytes they had.
    pub bytes: u64,
}

/// Removes what is not used from some shelves together. What cannot be removed keeps nothing else from going, and the
/// error says so at the end.
pub(crate) fn clean(shelves: &[Shelf], unused: Unused) -> io::Result<Cleaned> {
    let mut entries: Vec<(&Shelf, Entry)> = Vec::new();
    for shelf in shelves {
        entries.extend(shelf.entries()?.into_iter().map(|entry| (shelf, entry)));
    }
    entries.sort_by_key(|(_, entry)| entry.used);
    let mut left: u64 = entries.iter().map(|(_, entry)| entry.bytes).sum();
    let now = SystemTime::now();
    let mut cleaned = Cleaned::default();
    let mut failed = Ok(());
    for (shelf, entry) in entries {
        let goes = match unused {
            Unused::Above(bytes) => left > bytes,
            Unused::Since(age) => now.duration_since(entry.used).is_ok_and(|it| it >= age),
        };
        if !goes {
            break;
        }
        match shelf.remove(&entry.name) {
            Ok(true) => {
                left -= entry.bytes;
                cleaned.directories += 1;
                cleaned.bytes += entry.bytes;
            }
            Ok(false) => {}
            Err(error) => failed = failed.and(Err(error)),
        }
    }
    failed.map(|()| cleaned)
}
