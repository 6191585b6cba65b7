use super::super::{CacheError, CacheKey};
use fail_point::fail_point;
use std::io;
use std::path::{Path, PathBuf};

/// The layout of the directory of all caches.
///
/// ```text
/// keys/<digest>/lock            held by a writer
/// keys/<digest>/<number>/       one generation of a cache; the highest number counts
/// keys/<digest>/<number>/archive
/// keys/<digest>/<number>/entry.json
/// tmp/<name>/                   being written or removed; locked meanwhile
/// ```
///
/// A generation appears and disappears by one rename, so it is always complete. Readers lock it.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Creates the directories that do not depend on a key.
    pub(super) fn make(&self) -> Result<(), CacheError> {
        [&self.root, &self.keys(), &self.temporary()]
            .into_iter()
            .try_for_each(|directory| make_private(directory))
    }

    /// Returns the directory of all keys.
    pub(super) fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// Returns the directory for caches that are being written or removed.
    pub(super) fn temporary(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// Returns the directory of a project's key.
    pub(super) fn of_key(&self, scope: &str, key: &CacheKey) -> KeyDir {
        let mut hasher = blake3::Hasher::new();
        hasher.update(scope.as_bytes());
        hasher.update(b"\0");
        hasher.update(key.text().as_bytes());
        self.of_digest(&hasher.finalize().to_hex())
    }

    /// Returns the directory of the key with this digest.
    pub(super) fn of_digest(&self, digest: &str) -> KeyDir {
        KeyDir {
            directory: self.keys().join(digest),
        }
    }
}

/// The directory of one key.
#[derive(Debug, Clone)]
pub(super) struct KeyDir {
    pub(super) directory: PathBuf,
}

impl KeyDir {
    /// Returns the lock file of writers.
    pub(super) fn lock(&self) -> PathBuf {
        self.directory.join("lock")
    }

    /// Returns the directory of a generation.
    pub(super) fn generation(&self, number: u64) -> PathBuf {
        self.directory.join(number.to_string())
    }

    /// Returns the numbers of the generations, the current one first.
    pub(super) fn generations(&self) -> Result<Vec<u64>, CacheError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(file_error("read", &self.directory)(error)),
        };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable_by(|a, b| b.cmp(a));
        Ok(numbers)
    }
}

/// Creates a directory that only its owner may enter.
pub(super) fn make_private(path: &Path) -> Result<(), CacheError> {
    let created = fail_point!(
        "job_runner::cache::make_dir",
        process::make_private_dir(path)
    );
    created.map_err(file_error("make", path))
}

/// Returns a conversion into the error of an action on a file.
pub(super) fn file_error(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::File {
        action,
        path,
        source,
    }
}
