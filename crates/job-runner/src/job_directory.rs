use std::path::{Path, PathBuf};

/// The directory of a job's sources, under the runner's path and under the scripts' path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobDirectory {
    /// The path under which the runner reads and writes it.
    pub(crate) host: PathBuf,
    /// The path under which scripts, patterns and messages name it.
    pub(crate) named: PathBuf,
}

impl JobDirectory {
    /// Returns a directory with one path for the runner and the scripts.
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
