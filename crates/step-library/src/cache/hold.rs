use super::lease::note;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A directory of the cache that changes, and that nobody else uses meanwhile.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(super) path: PathBuf,
    pub(super) used: PathBuf,
    pub(super) lock: File,
}

impl Hold {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it back, with so many bytes in it.
    pub(crate) fn release(self, bytes: u64) {
        if let Err(error) = note(&self.used, Some(bytes)) {
            tracing::debug!(path = %self.path.display(), %error, "How large it is stays unknown.");
        }
        drop(self.lock);
    }
}
