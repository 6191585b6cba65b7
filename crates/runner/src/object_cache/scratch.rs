use job_runner::CacheError;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file for an archive on its way, removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Returns the path of a file that does not exist yet.
    pub(super) fn in_directory(directory: &Path) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(directory.join(format!("cache-{}-{count}", std::process::id())))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = process::remove_tree(&self.0) {
            let path = self.0.display();
            tracing::warn!(%path, %error, "The temporary file of a cache remains.");
        }
    }
}

/// Returns a conversion that adds what was attempted with a file.
pub(super) fn file_error(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> CacheError {
    move |source| CacheError::File {
        action,
        path: path.to_owned(),
        source,
    }
}
