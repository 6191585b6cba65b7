use process::make_private_dir;
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What tags and branches were at last, for when nobody may be asked.
#[derive(Debug, Clone)]
pub(super) struct Noted {
    directory: PathBuf,
}

impl Noted {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(super) fn commit(&self, repository: &str, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.file(repository, name)).ok()?;
        super::revision::is_commit(&text).then_some(text)
    }

    /// Notes a commit. Whoever reads sees the one before or this one.
    pub(super) fn note(&self, repository: &str, name: &str, commit: &str) -> io::Result<()> {
        make_private_dir(&self.directory)?;
        if self.commit(repository, name).as_deref() == Some(commit) {
            return Ok(());
        }
        let file = self.file(repository, name);
        // Each program has one of its own: two that write the same would mix.
        let part = file.with_extension(format!("part{}", std::process::id()));
        fs::write(&part, commit)?;
        fs::rename(&part, &file)
    }

    fn file(&self, repository: &str, name: &str) -> PathBuf {
        let digest = Sha256::digest(name);
        Path::join(&self.directory, format!("{repository}-{digest:x}"))
    }
}
