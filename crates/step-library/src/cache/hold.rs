use super::lease::record_use;
use process::FileLock;
use std::path::{Path, PathBuf};

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
