use super::lock::try_shared;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Keeps a directory of the cache from being removed, also by other programs.
#[derive(Debug)]
pub(crate) struct Lease {
    directory: PathBuf,
    /// Holds the lock, which many may share.
    _file: File,
}

impl Lease {
    /// Takes a lease of a directory, if it is there and nobody is about to remove it.
    pub(super) fn take(directory: &Path, file: &Path) -> io::Result<Option<Self>> {
        let Some(file) = try_shared(file)? else {
            return Ok(None);
        };
        if !directory.is_dir() {
            return Ok(None);
        }
        // It tells when the directory was used last, and no more than that.
        let _ = file.set_modified(SystemTime::now());
        Ok(Some(Self {
            directory: directory.to_owned(),
            _file: file,
        }))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Notes how large a directory is, if that is known, and that it was used now.
pub(super) fn note(file: &Path, bytes: Option<u64>) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(file)?;
    let text = bytes.map(|bytes| bytes.to_string());
    file.write_all(text.unwrap_or_default().as_bytes())?;
    // Nothing may be written, and it counts as used all the same.
    file.set_modified(SystemTime::now())
}
