use super::super::{CacheError, RestoredCache};
use super::caches::LocalCaches;
use super::entry::{EntryDir, digest};
use super::lock::{Hold, Locked, PathLock};
use super::place::{KeyPlace, file_error};
use super::temporary::Temporary;
use archive::{ArchiveError, Limits, LinkTargets};
use executor_core::Cancellation;
use fail_point::fail_point;
use std::path::Path;

/// What a look at the newest generation of a key found.
#[derive(Debug)]
pub(super) enum Newest {
    /// There is none.
    Absent,
    /// It is just being published or taken away.
    Changing,
    /// It is held, so that it stays.
    Held(Held),
}

/// A cache that stays where it is while this is there.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) directory: EntryDir,
    lock: PathLock,
}

impl Newest {
    /// Looks once.
    pub(super) fn of(key: &KeyPlace) -> Result<Self, CacheError> {
        let Some(&number) = key.generations()?.first() else {
            return Ok(Self::Absent);
        };
        let path = key.generation(number);
        let locked = PathLock::of_directory(&path, Hold::Shared);
        Ok(match locked.map_err(file_error("lock", &path))? {
            Locked::Held(lock) => Self::Held(Held {
                directory: EntryDir { path },
                lock,
            }),
            Locked::Busy | Locked::Gone => Self::Changing,
        })
    }
}

impl LocalCaches {
    /// Unpacks a cache that is held. A damaged one is taken away.
    pub(super) fn unpack(
        &self,
        held: Held,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<RestoredCache, CacheError> {
        let unpacked = unpack(&held.directory, into, cancellation);
        if let Err(CacheError::Damaged { .. }) = unpacked {
            let path = &held.directory.path;
            let locked = held.lock.alone(path).map_err(file_error("lock", path))?;
            // Another may have found the same, or may be reading it and find the same.
            if let Locked::Held(lock) = locked {
                drop(Temporary::take(self.place(), path, lock)?);
            }
        }
        unpacked
    }
}

fn unpack(
    directory: &EntryDir,
    into: &Path,
    cancellation: &Cancellation,
) -> Result<RestoredCache, CacheError> {
    let entry = directory.read()?;
    let archive = directory.archive();
    // Before any of its files is there: nobody wants half of a cache.
    let found = digest(&archive).map_err(file_error("read", &archive))?;
    if found != entry.digest {
        let what = "its archive has another content".to_owned();
        return Err(CacheError::Damaged { what });
    }
    let unpacked = fail_point!(
        "job_runner::cache::unpack",
        archive::unpack(&archive, into, &limits(), cancellation)
    );
    unpacked.map_err(|source| not_unpacked(source, cancellation))?;
    // Who cannot say that he used it has used it all the same.
    let _ = directory.touch();
    Ok(RestoredCache {
        files: entry.files,
        size: entry.size,
        names: entry.names,
    })
}

fn not_unpacked(source: ArchiveError, cancellation: &Cancellation) -> CacheError {
    if cancellation.is_canceled() {
        return CacheError::Stopped;
    }
    CacheError::Archive {
        action: "unpack the archive",
        source: source.into(),
    }
}

/// Returns what an archive may hold: whatever was packed here. Jobs alone use it, and could make any
/// link and fill the disk themselves; and zeroes are packed so well that no ratio is a sign of harm.
fn limits() -> Limits {
    Limits {
        entries: u64::MAX,
        bytes: u64::MAX,
        ratio: u64::MAX,
        links: LinkTargets::Anywhere,
    }
}
