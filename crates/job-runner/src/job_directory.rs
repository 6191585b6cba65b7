use std::path::{Path, PathBuf};

/// The directory of a job's sources, by both of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobDirectory {
    /// Where the runner reads and writes it.
    pub(crate) host: PathBuf,
    /// What scripts call it, and so patterns and messages.
    pub(crate) named: PathBuf,
}

impl JobDirectory {
    /// Returns one that has the same name for all.
    #[cfg(test)]
    pub(crate) fn local(path: &Path) -> Self {
        Self {
            host: path.to_owned(),
            named: path.to_owned(),
        }
    }

    /// Returns where a file in it is.
    pub(crate) fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.host.join(path)
    }
}
