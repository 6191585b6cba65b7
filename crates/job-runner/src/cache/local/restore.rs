use super::super::{CacheError, RestoredCache};
use super::caches::LocalCaches;
use super::entry::{EntryDir, digest};
use super::layout::{KeyDir, file_error};
use super::lock::Locked;
use super::temporary::Temporary;
use archive::{ArchiveError, Limits, LinkTargets};
use executor_core::Cancellation;
use fail_point::fail_point;
use process::{FileLock, LockKind};
use std::path::Path;

/// The newest generation of a key.
#[derive(Debug)]
pub(super) enum Newest {
    /// There is none.
    Absent,
    /// It is being published or removed.
    Changing,
    /// It is locked against removal.
    Held(Held),
}

/// A cache that is locked against removal.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) directory: EntryDir,
    lock: FileLock,
}

impl Newest {
    /// Tries once to lock the newest generation.
    pub(super) fn of(key: &KeyDir) -> Result<Self, CacheError> {
        let Some(&number) = key.generations()?.first() else {
            return Ok(Self::Absent);
        };
        let path = key.generation(number);
        let locked = Locked::of_directory(&path, LockKind::Shared);
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
    /// Unpacks a locked cache. A damaged one is removed.
    pub(super) fn unpack(
        &self,
        held: Held,
        into: &Path,
        cancellation: &Cancellation,
    ) -> Result<RestoredCache, CacheError> {
        let unpacked = unpack(&held.directory, into, cancellation);
        if let Err(CacheError::Damaged { .. }) = unpacked {
            let path = &held.directory.path;
            let locked = Locked::alone(held.lock, path).map_err(file_error("lock", path))?;
            // Another reader may have found the same damage, or be about to.
            if let Locked::Held(lock) = locked {
                drop(Temporary::take(self.layout(), path, lock)?);
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
    // Checked before any file is written, so that no partial cache is restored.
    let found = digest(&archive).map_err(file_error("read", &archive))?;
    if found != entry.digest {
        let what = "its archive has another digest".to_owned();
        return Err(CacheError::Damaged { what });
    }
    let unpacked = fail_point!(
        "job_runner::cache::unpack",
        archive::unpack(&archive, into, &limits(), cancellation)
    );
    unpacked.map_err(|source| not_unpacked(source, cancellation))?;
    // The restore succeeded even if the time of use cannot be set.
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

/// Returns the limits for unpacking. Only jobs use a cache, and could create any link and fill the disk themselves.
/// Zeros compress so well that no ratio is suspicious.
fn limits() -> Limits {
    Limits {
        entries: u64::MAX,
        bytes: u64::MAX,
        ratio: u64::MAX,
        links: LinkTargets::Anywhere,
    }
}
