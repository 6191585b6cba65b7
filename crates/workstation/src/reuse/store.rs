use super::entry::Entry;
use super::job_key::JobKey;
use crate::history::state::StateError;
use content_store::{ContentStore, Digest, StoreError};
use executor_core::Cancellation;
use fail_point::fail_point;
use jiff::Timestamp;
use process::make_private_dir_all;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The reusable results of a project's jobs.
///
/// An entry is a file that names trees of the content store, which keeps them while the entry exists. A run that
/// reuses an entry names the same trees itself.
#[derive(Debug, Clone)]
pub(crate) struct ReuseStore {
    directory: PathBuf,
    content: ContentStore,
}

/// A stored result, for `clean`.
#[derive(Debug, Clone)]
pub(crate) struct ReusableJob {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// When it was stored or last reused.
    pub(crate) used: SystemTime,
    /// The size of its files, which others may share.
    pub(crate) bytes: u64,
}

/// How long an unused result is kept.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);
/// How many bytes a project's results may have.
const MAX_BYTES: u64 = 4 << 30;
/// How many results of a project are kept.
const MAX_ENTRIES: usize = 5000;

/// The extension of entries.
const EXTENSION: &str = "json";

impl ReuseStore {
    /// Its directory in the state of a project.
    const DIRECTORY: &str = "reuse";

    /// Returns the store in the state of a project.
    pub(crate) fn at(project: &Path, content: ContentStore) -> Self {
        Self {
            directory: project.join(Self::DIRECTORY),
            content,
        }
    }

    /// Returns the error of a failure to read the directory.
    pub(crate) fn unreadable(&self, error: io::Error) -> StateError {
        StateError::Io {
            action: "read",
            path: self.directory.clone(),
            source: error,
        }
    }

    /// Creates the directory.
    pub(super) fn make(&self) -> io::Result<()> {
        fail_point!(
            "workstation::reuse::make_dir",
            make_private_dir_all(&self.directory)
        )
    }

    /// Returns the file with the digests of the project's files.
    pub(super) fn known_contents(&self) -> PathBuf {
        self.directory.join("contents")
    }

    pub(super) fn content(&self) -> &ContentStore {
        &self.content
    }

    /// Returns the result of a key, if it is complete and undamaged.
    ///
    /// The caller holds the content store.
    pub(super) fn find(&self, key: &JobKey) -> Option<Entry> {
        let path = self.path(&key.name);
        let entry = Entry::parse(&fs::read(&path).ok()?, &key.name)?;
        if entry.is_expired(Timestamp::now()) {
            return None;
        }
        for digest in entry.trees()? {
            let whole = self
                .content
                .tree(digest)
                .and_then(|tree| self.content.verify(&tree));
            if let Err(error) = whole {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    job = &*entry.job,
                    error,
                    "The stored result of a job is damaged."
                );
                return None;
            }
        }
        Some(entry)
    }

    /// Records that an entry was reused, so that it is kept longer.
    pub(super) fn touch(&self, key: &JobKey) {
        let now = SystemTime::now();
        let touch = || {
            File::options()
                .append(true)
                .open(self.path(&key.name))?
                .set_modified(now)
        };
        if let Err(error) = fail_point!("workstation::reuse::touch", touch()) {
            tracing::debug!(%error, "The reuse of a result is not recorded.");
        }
    }

    /// Stores what `make` returns under a key, replacing an earlier result. Holds off sweeps meanwhile.
    pub(super) fn keep(
        &self,
        key: &JobKey,
        cancellation: &Cancellation,
        make: impl FnOnce(&ContentStore) -> Result<Entry, StoreError>,
    ) -> Result<(), StoreError> {
        let _held = self.content.hold(cancellation)?;
        let entry = make(&self.content)?;
        let path = self.path(&key.name);
        let error = |source| StoreError::File {
            action: "write",
            path: path.clone(),
            source,
        };
        self.make().map_err(error)?;
        self.content.write_note(&path, &entry.to_text())
    }

    /// Returns the parts in which a key differs from the last stored one of its job, with the run of that.
    pub(super) fn compare(&self, key: &JobKey) -> Option<(Vec<String>, u64)> {
        let found = self.files().ok()?;
        let prefix = format!("{}-", key.job_prefix());
        let mut same: Vec<_> = found
            .into_iter()
            .filter(|(name, _, _)| name.starts_with(&prefix))
            .collect();
        same.sort_by_key(|(_, _, used)| *used);
        let (name, path, _) = same.pop()?;
        let last = Entry::parse(&fs::read(path).ok()?, &name)?;
        let parts: &BTreeMap<String, String> = &last.parts;
        let changed = key.changed(parts).into_iter().map(ToOwned::to_owned);
        Some((changed.collect(), last.pipeline().0))
    }

    /// Returns all stored results.
    pub(crate) fn jobs(&self) -> io::Result<Vec<ReusableJob>> {
        let files = self.files()?.into_iter();
        let jobs = files.map(|(name, path, used)| {
            let read = fs::read(&path).ok();
            let entry = read.and_then(|text| Entry::parse(&text, &name));
            ReusableJob {
                bytes: entry.as_ref().map_or(0, Entry::bytes),
                name: entry.map_or(name, |entry| entry.job),
                path,
                used,
            }
        });
        Ok(jobs.collect())
    }

    /// Returns the trees in use. Invalid entries use none.
    pub(crate) fn trees(&self) -> io::Result<Vec<Digest>> {
        let mut trees = Vec::new();
        for (name, path, _) in self.files()? {
            let text = match fs::read(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                text => text?,
            };
            let entry = Entry::parse(&text, &name);
            trees.extend(entry.and_then(|entry| entry.trees()).into_iter().flatten());
        }
        Ok(trees)
    }

    /// Removes a stored result.
    pub(crate) fn remove(job: &ReusableJob) -> io::Result<()> {
        match fail_point!("workstation::reuse::remove", fs::remove_file(&job.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes results that are unused for long, and the oldest beyond the limits. Returns whether it removed any.
    pub(crate) fn prune(&self) -> bool {
        let Ok(jobs) = self.jobs() else {
            return false;
        };
        let mut any = false;
        for job in superfluous(jobs, SystemTime::now()) {
            match Self::remove(&job) {
                Ok(()) => any = true,
                Err(error) => tracing::debug!(%error, "A stored result stays."),
            }
        }
        any
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(key).with_extension(EXTENSION)
    }

    /// Returns the names of keys with their files and times of last use.
    fn files(&self) -> io::Result<Vec<(String, PathBuf, SystemTime)>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_entry = path.extension().is_some_and(|it| it == EXTENSION);
            let name = path.file_stem().and_then(|name| name.to_str());
            if let Some(name) = name.filter(|_| is_entry)
                && let Ok(used) = fs::metadata(&path).and_then(|it| it.modified())
            {
                files.push((name.to_owned(), path.clone(), used));
            }
        }
        Ok(files)
    }
}

/// Returns the results to remove.
fn superfluous(mut jobs: Vec<ReusableJob>, now: SystemTime) -> Vec<ReusableJob> {
    jobs.sort_by_key(|job| std::cmp::Reverse(job.used));
    let (mut bytes, mut count) = (0_u64, 0_usize);
    jobs.retain(|job| {
        bytes = bytes.saturating_add(job.bytes);
        count += 1;
        let age = now.duration_since(job.used).unwrap_or_default();
        age > MAX_AGE || bytes > MAX_BYTES || count > MAX_ENTRIES
    });
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_results_beyond_the_limits_are_superfluous() {
        let now = SystemTime::now();
        let job = |name: &str, hours, bytes| ReusableJob {
            path: PathBuf::new(),
            name: name.to_owned(),
            used: now - Duration::from_hours(hours),
            bytes,
        };
        let check = |jobs: Vec<ReusableJob>, expect: &[&str]| {
            let removed = superfluous(jobs, now);
            let removed: Vec<&str> = removed.iter().map(|job| &*job.name).collect();
            assert_eq!(removed, expect);
        };
        check(vec![job("a", 1, 1), job("b", 2, 1)], &[]);
        check(vec![job("a", 1, 1), job("b", 31 * 24, 1)], &["b"]);
        check(
            vec![job("a", 3, 1), job("b", 1, MAX_BYTES), job("c", 2, 1)],
            &["c", "a"],
        );
        // A time in the future means that the clock was set back.
        let mut late = job("late", 0, 1);
        late.used = now + Duration::from_hours(1);
        check(vec![late], &[]);
        check(vec![job("a", 1, 1); MAX_ENTRIES + 1], &["a"]);
    }
}
