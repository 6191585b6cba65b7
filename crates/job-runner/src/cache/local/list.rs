use super::super::CacheError;
use super::caches::LocalCaches;
use super::entry::EntryDir;
use super::layout::file_error;
use std::fs;
use std::io;
use std::time::SystemTime;

/// A cache in a list of caches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCacheEntry {
    /// The id, by which it can be removed.
    pub id: String,
    /// The key, with secrets masked; empty when it is unknown.
    pub key: String,
    /// The project: the name given to [`LocalCaches::of_project`].
    pub project: String,
    /// The archive format: `zip`, `zipzstd` or `tarzstd`.
    pub format: String,
    /// The number of files, links and directories.
    pub files: usize,
    /// The size in bytes.
    pub size: u64,
    /// When a job used it last.
    pub used: SystemTime,
}

/// The result of [`LocalCaches::remove`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedCache {
    /// It was removed and freed this number of bytes.
    Freed(u64),
    /// A job uses it, so it was kept.
    InUse,
    /// It did not exist.
    Gone,
}

impl LocalCaches {
    /// Lists the caches of all projects, the least recently used first.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read.
    pub fn entries(&self) -> Result<Vec<LocalCacheEntry>, CacheError> {
        let keys = self.layout().keys();
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
        let layout = self.layout().of_digest(&id);
        let directories = layout.generations().ok()?.into_iter();
        let mut directories = directories.map(|number| EntryDir {
            path: layout.generation(number),
        });
        let newest = directories.next()?;
        // Older generations that are still being read use space too.
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
