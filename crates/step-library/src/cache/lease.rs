use super::lock::try_shared;
use process::FileLock;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Keeps a directory of the cache from being removed by this and other programs.
#[derive(Debug)]
pub(crate) struct Lease {
    directory: PathBuf,
    /// Shared.
    _lock: FileLock,
}

impl Lease {
    /// Takes a lease of a directory, unless it is absent or being removed.
    pub(super) fn take(directory: &Path, file: &Path) -> io::Result<Option<Self>> {
        let Some(lock) = try_shared(file)? else {
            return Ok(None);
        };
        if !directory.is_dir() {
            return Ok(None);
        }
        // The time of last use decides what is removed first; failing to set it does no harm.
        let _ = lock.file().set_modified(SystemTime::now());
        Ok(Some(Self {
            directory: directory.to_owned(),
            _lock: lock,
        }))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Records the size of a directory, if known, and that it was used now.
pub(super) fn record_use(file: &Path, bytes: Option<u64>) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(file)?;
    let text = bytes.map(|bytes| bytes.to_string());
    file.write_all(text.unwrap_or_default().as_bytes())?;
    // With an empty text the file may be unchanged, and it counts as used all the same.
    file.set_modified(SystemTime::now())
}

/// A directory of the cache that changes, locked against other users.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(super) path: PathBuf,
    pub(super) used: PathBuf,
    pub(super) lock: FileLock,
}

impl Hold {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Releases it and records its bytes.
    pub(crate) fn release(self, bytes: u64) {
        if let Err(error) = record_use(&self.used, Some(bytes)) {
            tracing::debug!(path = %self.path.display(), %error, "The size of a directory is not recorded.");
        }
        drop(self.lock);
    }
}
