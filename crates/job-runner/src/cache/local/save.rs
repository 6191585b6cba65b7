use super::super::fingerprint::fingerprint;
use super::super::{CacheError, CacheFiles, CacheKey, SavedCache};
use super::caches::LocalCaches;
use super::entry::{Entry, EntryDir, digest};
use super::layout::{KeyDir, file_error};
use super::restore::Newest;
use super::temporary::{self, Temporary};
use archive::{Packing, Skipped};
use executor_core::Cancellation;
use fail_point::fail_point;

impl LocalCaches {
    /// Packs files and replaces the cache. The caller holds the key's lock.
    pub(super) fn pack(
        &self,
        layout: &KeyDir,
        key: &CacheKey,
        files: &CacheFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedCache, CacheError> {
        temporary::sweep(self.layout());
        let fingerprint = fingerprint(&files.project, &files.paths);
        let fingerprint =
            fingerprint.map_err(file_error("inspect the files in", &files.project))?;
        let names = files.names();
        if is_up_to_date(layout, files, &fingerprint, &names)? {
            return Ok(SavedCache::UpToDate);
        }
        let temporary = Temporary::make(self.layout())?;
        let directory = EntryDir {
            path: temporary.path().to_owned(),
        };
        let archive = directory.archive();
        let packing = Packing {
            format: files.format,
            level: files.level,
            ..Packing::default()
        };
        let packed = fail_point!(
            "job_runner::cache::pack",
            archive::pack(
                &files.project,
                &files.paths,
                &archive,
                &packing,
                cancellation
            )
        );
        let packed = packed.map_err(|source| {
            if cancellation.is_canceled() {
                return CacheError::Stopped;
            }
            CacheError::Archive {
                action: "write the archive",
                source: source.into(),
            }
        })?;
        let size = directory.archive_size().unwrap_or(0);
        let budget = self.bytes();
        if size > budget {
            return Err(CacheError::TooLarge { size, budget });
        }
        let entry = Entry {
            key: key.shown().to_owned(),
            scope: self.scope().to_owned(),
            format: files.format.name().to_owned(),
            files: files.paths.len(),
            size,
            digest: digest(&archive).map_err(file_error("read", &archive))?,
            names,
            look: fingerprint,
        };
        let written = fail_point!("job_runner::cache::write_entry", directory.write(&entry));
        written.map_err(file_error("write the metadata of", &archive))?;
        let older = layout.generations()?;
        let number = older.first().map_or(1, |newest| newest.saturating_add(1));
        temporary.publish(&layout.generation(number))?;
        for number in older {
            // An older generation that is still being read, or cannot be removed now, is removed with the next save.
            if let Err(error) = self.remove_generation(layout, number) {
                tracing::debug!(key = key.shown(), %error, "An old cache could not be removed yet.");
            }
        }
        Ok(SavedCache::Created {
            size,
            skipped: skipped(&packed.skipped),
        })
    }
}

/// Returns whether the cache already has these files, and then marks it as used.
fn is_up_to_date(
    layout: &KeyDir,
    files: &CacheFiles,
    fingerprint: &str,
    names: &str,
) -> Result<bool, CacheError> {
    let Newest::Held(held) = Newest::of(layout)? else {
        return Ok(false);
    };
    // A damaged cache is replaced.
    let Ok(entry) = held.directory.read() else {
        return Ok(false);
    };
    let is_same = entry.look == fingerprint && entry.names == names;
    if is_same || files.are_as_restored {
        let _ = held.directory.touch();
        return Ok(true);
    }
    Ok(false)
}

fn skipped(skipped: &[Skipped]) -> Vec<String> {
    let line = |it: &Skipped| format!("{} {}", it.path.display(), it.why);
    skipped.iter().map(line).collect()
}
