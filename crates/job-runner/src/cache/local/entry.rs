use super::super::CacheError;
use super::place::file_error;
use crate::plain_file;
use fail_point::fail_point;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is known of a kept cache, in a file beside its archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The key, without what nobody may read.
    pub(super) key: String,
    /// Whose it is.
    pub(super) scope: String,
    /// The kind of the archive.
    pub(super) format: String,
    /// How many files, links and directories it names.
    pub(super) files: usize,
    /// How large the archive is.
    pub(super) size: u64,
    /// The BLAKE3 digest of the archive.
    pub(super) digest: String,
    /// The paths of the files, in short.
    pub(super) names: String,
    /// What the files looked like as they were packed.
    pub(super) look: String,
}

/// How many bytes are read of what is known of a cache; a key may be long, and is written here alone.
const LONGEST: u64 = 16 << 20;

/// A directory with a cache in it.
#[derive(Debug, Clone)]
pub(super) struct EntryDir {
    pub(super) path: PathBuf,
}

impl EntryDir {
    /// Returns the file with the files.
    pub(super) fn archive(&self) -> PathBuf {
        self.path.join("archive")
    }

    fn metadata(&self) -> PathBuf {
        self.path.join("entry.json")
    }

    /// Reads what is known of the cache.
    ///
    /// # Errors
    ///
    /// [`CacheError::Damaged`] when it does not fit its archive.
    pub(super) fn read(&self) -> Result<Entry, CacheError> {
        let damaged = |what: &str| CacheError::Damaged {
            what: what.to_owned(),
        };
        let path = self.metadata();
        let text = match plain_file::read(&path, LONGEST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged("what is known of it is not there"));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(damaged("what is known of it is in no plain file"));
            }
            Err(error) => return Err(file_error("read", &path)(error)),
        };
        let entry: Entry = serde_json::from_slice(&text)
            .map_err(|_| damaged("what is known of it cannot be read"))?;
        match self.archive_size() {
            Some(size) if size == entry.size => Ok(entry),
            Some(_) => Err(damaged("its archive has another size")),
            None => Err(damaged("its archive is not there")),
        }
    }

    /// Returns how large the archive is; `None` without one.
    pub(super) fn archive_size(&self) -> Option<u64> {
        let metadata = fs::symlink_metadata(self.archive()).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Writes what is known of the cache.
    pub(super) fn write(&self, entry: &Entry) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(entry)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(self.metadata())?.write_all(&text)
    }

    /// Returns when somebody used it last; `None` when nobody can know.
    pub(super) fn used(&self) -> Option<SystemTime> {
        fs::metadata(self.metadata()).ok()?.modified().ok()
    }

    /// Says that it was used just now.
    pub(super) fn touch(&self) -> io::Result<()> {
        fail_point!(
            "job_runner::cache::touch",
            File::options()
                .write(true)
                .open(self.metadata())
                .and_then(|file| file.set_modified(SystemTime::now()))
        )
    }
}

/// Returns the digest of a file.
pub(super) fn digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
