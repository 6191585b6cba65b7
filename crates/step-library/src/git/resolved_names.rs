use process::{make_private_dir, replace_file};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The commits that tags and branches had last, for offline use.
#[derive(Debug, Clone)]
pub(super) struct ResolvedNames {
    directory: PathBuf,
}

impl ResolvedNames {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(super) fn commit(&self, repository: &str, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.file(repository, name)).ok()?;
        ::git::is_commit(&text).then_some(text)
    }

    /// Records a commit. A reader sees the earlier one or this one.
    pub(super) fn record(&self, repository: &str, name: &str, commit: &str) -> io::Result<()> {
        make_private_dir(&self.directory)?;
        if self.commit(repository, name).as_deref() == Some(commit) {
            return Ok(());
        }
        replace_file(&self.file(repository, name), commit.as_bytes())
    }

    fn file(&self, repository: &str, name: &str) -> PathBuf {
        let digest = Sha256::digest(name);
        Path::join(&self.directory, format!("{repository}-{digest:x}"))
    }
}
