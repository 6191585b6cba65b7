use process::make_private_dir;
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
        let file = self.file(repository, name);
        // Each process writes a file of its own: two in the same file would mix.
        let part = file.with_extension(format!("part{}", std::process::id()));
        fs::write(&part, commit)?;
        fs::rename(&part, &file)
    }

    fn file(&self, repository: &str, name: &str) -> PathBuf {
        let digest = Sha256::digest(name);
        Path::join(&self.directory, format!("{repository}-{digest:x}"))
    }
}
