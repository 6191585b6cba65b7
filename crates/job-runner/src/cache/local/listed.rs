use super::super::CacheError;
use super::caches::LocalCaches;
use super::entry::EntryDir;
use super::place::file_error;
use std::fs;
use std::io;
use std::time::SystemTime;

/// A kept cache, as a list of them shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCacheEntry {
    /// A name of its own, by which it can be removed.
    pub id: String,
    /// The key, without what nobody may read; empty when nobody can know it any more.
    pub key: String,
    /// Whose it is: what was given to [`LocalCaches::of_project`].
    pub project: String,
    /// The kind of its archive: `zip`, `zipzstd` or `tarzstd`.
    pub format: String,
    /// How many files, links and directories it names.
    pub files: usize,
    /// How much room it takes, in bytes.
    pub size: u64,
    /// When a job used it last.
    pub used: SystemTime,
}

/// What became of the wish to remove a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedCache {
    /// It is gone, and so many bytes with it.
    Freed(u64),
    /// A job reads or writes it just now, so it stays.
    InUse,
    /// It was gone already.
    Gone,
}

impl LocalCaches {
    /// Lists what is kept for all projects, that which was used longest ago first.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn entries(&self) -> Result<Vec<LocalCacheEntry>, CacheError> {
        let keys = self.place().keys();
        let found = match fs::read_dir(&keys) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(file_error("read", &keys)(error)),
        };
        let ids = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut entries: Vec<LocalCacheEntry> = ids.filter_map(|id| self.entry(id)).collect();
        entries.sort_by(|a, b| (a.used, &a.id).cmp(&(b.used, &b.id)));
        Ok(entries)
    }

    fn entry(&self, id: String) -> Option<LocalCacheEntry> {
        let place = self.place().of_digest(&id);
        let directories = place.generations().ok()?.into_iter();
        let mut directories = directories.map(|number| EntryDir {
            path: place.generation(number),
        });
        let newest = directories.next()?;
        // Older ones that somebody still reads take room too.
        let older: u64 = directories.filter_map(|it| it.archive_size()).sum();
        let known = newest.read().ok();
        let text = |field: fn(&super::entry::Entry) -> &String| {
            known.as_ref().map(field).cloned().unwrap_or_default()
        };
        Some(LocalCacheEntry {
            key: text(|it| &it.key),
            project: text(|it| &it.scope),
            format: text(|it| &it.format),
            files: known.as_ref().map_or(0, |it| it.files),
            size: newest.archive_size().unwrap_or(0) + older,
            used: newest.used().unwrap_or(SystemTime::UNIX_EPOCH),
            id,
        })
    }
}
