use super::super::CacheError;
use super::layout::file_error;
use crate::plain_file;
use fail_point::fail_point;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The metadata of a cache, in a file beside its archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The key, with secrets masked.
    pub(super) key: String,
    /// The project of the cache.
    pub(super) scope: String,
    /// The archive format.
    pub(super) format: String,
    /// The number of files, links and directories.
    pub(super) files: usize,
    /// The size of the archive in bytes.
    pub(super) size: u64,
    /// The BLAKE3 digest of the archive.
    pub(super) digest: String,
    /// The digest of the paths of the files.
    pub(super) names: String,
    /// The fingerprint of the files when they were packed.
    pub(super) look: String,
}

/// The largest size of the metadata file; only the key may be long.
const LONGEST: u64 = 16 << 20;

/// A directory with a cache.
#[derive(Debug, Clone)]
pub(super) struct EntryDir {
    pub(super) path: PathBuf,
}

impl EntryDir {
    /// Returns the path of the archive.
    pub(super) fn archive(&self) -> PathBuf {
        self.path.join("archive")
    }

    fn metadata(&self) -> PathBuf {
        self.path.join("entry.json")
    }

    /// Reads the metadata of the cache.
    ///
    /// # Errors
    ///
    /// [`CacheError::Damaged`] when it does not match its archive.
    pub(super) fn read(&self) -> Result<Entry, CacheError> {
        let damaged = |what: &str| CacheError::Damaged {
            what: what.to_owned(),
        };
        let path = self.metadata();
        let text = match plain_file::read(&path, LONGEST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(damaged("its metadata is missing"));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(damaged("its metadata is not a regular file"));
            }
            Err(error) => return Err(file_error("read", &path)(error)),
        };
        let entry: Entry =
            serde_json::from_slice(&text).map_err(|_| damaged("its metadata is invalid"))?;
        match self.archive_size() {
            Some(size) if size == entry.size => Ok(entry),
            Some(_) => Err(damaged("its archive has another size")),
            None => Err(damaged("its archive is missing")),
        }
    }

    /// Returns the size of the archive; `None` without one.
    pub(super) fn archive_size(&self) -> Option<u64> {
        let metadata = fs::symlink_metadata(self.archive()).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// Writes the metadata of the cache.
    pub(super) fn write(&self, entry: &Entry) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(entry)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        options.open(self.metadata())?.write_all(&text)
    }

    /// Returns when the cache was used last; `None` when that is unknown.
    pub(super) fn used(&self) -> Option<SystemTime> {
        fs::metadata(self.metadata()).ok()?.modified().ok()
    }

    /// Marks the cache as used now.
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
