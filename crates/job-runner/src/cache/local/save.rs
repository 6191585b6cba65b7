use super::super::look::{look, names};
use super::super::{CacheError, CacheFiles, CacheKey, SavedCache};
use super::caches::LocalCaches;
use super::entry::{Entry, EntryDir, digest};
use super::place::{KeyPlace, file_error};
use super::restore::Newest;
use super::temporary::{self, Temporary};
use archive::{Packing, Skipped};
use executor_core::Cancellation;
use fail_point::fail_point;

impl LocalCaches {
    /// Packs files and puts them in the place of what was kept. Whoever calls holds the key's lock.
    pub(super) fn pack(
        &self,
        place: &KeyPlace,
        key: &CacheKey,
        files: &CacheFiles,
        cancellation: &Cancellation,
    ) -> Result<SavedCache, CacheError> {
        temporary::sweep(self.place());
        let looks = look(&files.project, &files.paths);
        let looks = looks.map_err(file_error("look at the files in", &files.project))?;
        let names = names(&files.paths);
        if is_up_to_date(place, files, &looks, &names)? {
            return Ok(SavedCache::UpToDate);
        }
        let temporary = Temporary::make(self.place())?;
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
            look: looks,
        };
        let written = fail_point!("job_runner::cache::write_entry", directory.write(&entry));
        written.map_err(file_error("describe", &archive))?;
        let older = place.generations()?;
        let number = older.first().map_or(1, |newest| newest.saturating_add(1));
        temporary.publish(&place.generation(number))?;
        for number in older {
            // One that is still read, or cannot be removed now, goes with the next that is written.
            if let Err(error) = self.remove_generation(place, number) {
                tracing::debug!(key = key.shown(), %error, "An old cache stays for now.");
            }
        }
        Ok(SavedCache::Created {
            size,
            skipped: skipped(&packed.skipped),
        })
    }
}

/// Returns whether the files are kept already, and says then that they are used.
fn is_up_to_date(
    place: &KeyPlace,
    files: &CacheFiles,
    look: &str,
    names: &str,
) -> Result<bool, CacheError> {
    let Newest::Held(held) = Newest::of(place)? else {
        return Ok(false);
    };
    // What is damaged is replaced.
    let Ok(entry) = held.directory.read() else {
        return Ok(false);
    };
    let is_same = entry.look == look && entry.names == names;
    if is_same || files.are_as_restored {
        let _ = held.directory.touch();
        return Ok(true);
    }
    Ok(false)
}

fn skipped(skipped: &[Skipped]) -> Vec<String> {
    let told = |it: &Skipped| format!("{} {}", it.path.display(), it.why);
    skipped.iter().map(told).collect()
}
