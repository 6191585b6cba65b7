use super::entry::Entry;
use super::job_key::JobKey;
use crate::history::state::StateError;
use content_store::{ContentStore, Digest, StoreError};
use executor_core::Cancellation;
use fail_point::fail_point;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The jobs of a project that need not run again.
///
/// An entry is a file that names trees of the content store, which keeps them as long as the entry is
/// there. A run that took one names the same trees by itself.
#[derive(Debug, Clone)]
pub(crate) struct ReuseStore {
    directory: PathBuf,
    content: ContentStore,
}

/// A job that is kept, as who cleans up sees it.
#[derive(Debug, Clone)]
pub(crate) struct KeptJob {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// When it was kept, or taken last.
    pub(crate) used: SystemTime,
    /// How many bytes it holds on to, alone or with others.
    pub(crate) bytes: u64,
}

/// How long a job is kept that nobody takes.
const LONGEST: Duration = Duration::from_hours(30 * 24);
/// How much the jobs of a project hold on to.
const MOST_BYTES: u64 = 4 << 30;
/// How many are kept of a project.
const MOST_ENTRIES: usize = 5000;

/// The ending of entries.
const ENDING: &str = "json";

impl ReuseStore {
    /// The directory of it in the state of a project.
    const DIRECTORY: &str = "reuse";

    /// Returns the store in the state of a project.
    pub(crate) fn at(project: &Path, content: ContentStore) -> Self {
        Self {
            directory: project.join(Self::DIRECTORY),
            content,
        }
    }

    /// Returns the error of who could not read the directory.
    pub(crate) fn unreadable(&self, error: io::Error) -> StateError {
        StateError::Io {
            action: "read",
            path: self.directory.clone(),
            source: error,
        }
    }

    /// Makes the directory.
    pub(super) fn make(&self) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        fail_point!(
            "runwright::reuse::make_dir",
            builder.create(&self.directory)
        )
    }

    /// Returns where it is noted what files hold.
    pub(super) fn known_contents(&self) -> PathBuf {
        self.directory.join("contents")
    }

    pub(super) fn content(&self) -> &ContentStore {
        &self.content
    }

    /// Returns what is kept under a key, if all of it is there and is as it was.
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
                    "What is kept of a job is damaged."
                );
                return None;
            }
        }
        Some(entry)
    }

    /// Notes that an entry was taken: it stays for longer.
    pub(super) fn touch(&self, key: &JobKey) {
        let now = SystemTime::now();
        let touch = || {
            File::options()
                .append(true)
                .open(self.path(&key.name))?
                .set_modified(now)
        };
        if let Err(error) = fail_point!("runwright::reuse::touch", touch()) {
            tracing::debug!(%error, "A kept job seems older than it is.");
        }
    }

    /// Keeps what `make` returns under a key, in the place of what is there. No sweep comes between.
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

    /// Returns in which parts a key differs from the last one that is kept of its job, and the run that
    /// had that.
    pub(super) fn compare(&self, key: &JobKey) -> Option<(Vec<String>, u64)> {
        let found = self.files().ok()?;
        let own = format!("{}-", key.family());
        let mut same: Vec<_> = found
            .into_iter()
            .filter(|(name, _, _)| name.starts_with(&own))
            .collect();
        same.sort_by_key(|(_, _, used)| *used);
        let (name, path, _) = same.pop()?;
        let last = Entry::parse(&fs::read(path).ok()?, &name)?;
        let parts: &BTreeMap<String, String> = &last.parts;
        let changed = key.changed(parts).into_iter().map(ToOwned::to_owned);
        Some((changed.collect(), last.pipeline().0))
    }

    /// Returns the jobs that are kept.
    pub(crate) fn jobs(&self) -> io::Result<Vec<KeptJob>> {
        let files = self.files()?.into_iter();
        let jobs = files.map(|(name, path, used)| {
            let read = fs::read(&path).ok();
            let entry = read.and_then(|text| Entry::parse(&text, &name));
            KeptJob {
                bytes: entry.as_ref().map_or(0, Entry::bytes),
                name: entry.map_or(name, |entry| entry.job),
                path,
                used,
            }
        });
        Ok(jobs.collect())
    }

    /// Returns the trees that are needed. What cannot be understood needs none.
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

    /// Removes a job that is kept.
    pub(crate) fn remove(job: &KeptJob) -> io::Result<()> {
        match fail_point!("runwright::reuse::remove", fs::remove_file(&job.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Removes what nobody took for long, and the oldest of what is too much. Returns whether anything
    /// was.
    pub(crate) fn prune(&self) -> bool {
        let Ok(jobs) = self.jobs() else {
            return false;
        };
        let mut any = false;
        for job in superfluous(jobs, SystemTime::now()) {
            match Self::remove(&job) {
                Ok(()) => any = true,
                Err(error) => tracing::debug!(%error, "A kept job stays."),
            }
        }
        any
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(key).with_extension(ENDING)
    }

    /// Returns the names of keys, their files, and when these were used.
    fn files(&self) -> io::Result<Vec<(String, PathBuf, SystemTime)>> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            let is_entry = path.extension().is_some_and(|it| it == ENDING);
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

/// Returns the jobs that go.
fn superfluous(mut jobs: Vec<KeptJob>, now: SystemTime) -> Vec<KeptJob> {
    jobs.sort_by_key(|job| std::cmp::Reverse(job.used));
    let (mut bytes, mut count) = (0_u64, 0_usize);
    jobs.retain(|job| {
        bytes = bytes.saturating_add(job.bytes);
        count += 1;
        let age = now.duration_since(job.used).unwrap_or_default();
        age > LONGEST || bytes > MOST_BYTES || count > MOST_ENTRIES
    });
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_when_there_is_too_much() {
        let now = SystemTime::now();
        let job = |name: &str, hours, bytes| KeptJob {
            path: PathBuf::new(),
            name: name.to_owned(),
            used: now - Duration::from_hours(hours),
            bytes,
        };
        let check = |jobs: Vec<KeptJob>, expect: &[&str]| {
            let gone = superfluous(jobs, now);
            let gone: Vec<&str> = gone.iter().map(|job| &*job.name).collect();
            assert_eq!(gone, expect);
        };
        check(vec![job("a", 1, 1), job("b", 2, 1)], &[]);
        check(vec![job("a", 1, 1), job("b", 31 * 24, 1)], &["b"]);
        check(
            vec![job("a", 3, 1), job("b", 1, MOST_BYTES), job("c", 2, 1)],
            &["c", "a"],
        );
        // A clock that was set back says nothing.
        let mut late = job("late", 0, 1);
        late.used = now + Duration::from_hours(1);
        check(vec![late], &[]);
        check(vec![job("a", 1, 1); MOST_ENTRIES + 1], &["a"]);
    }
}
