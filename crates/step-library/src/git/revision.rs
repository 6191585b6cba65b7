use crate::error::Error;
use ::git::{is_commit, is_reference_name};
use process::{make_private_dir, replace_file};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A revision of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Revision {
    /// The full name of a commit.
    Commit(String),
    /// A tag, a branch, or an abbreviated commit.
    Name(String),
}

impl Revision {
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        if is_commit(text) {
            return Ok(Self::Commit(text.to_ascii_lowercase()));
        }
        if !is_reference_name(text) {
            let shown: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
            return Err(Error::Invalid {
                what: format!("`{shown}`"),
                why: "cannot be a tag, branch or commit".to_owned(),
                help: None,
            });
        }
        Ok(Self::Name(text.to_owned()))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_names_are_distinguished() {
        let sha = "0123456789ABCDEF0123456789abcdef01234567";
        assert_eq!(
            Revision::parse(sha).unwrap(),
            Revision::Commit(sha.to_lowercase())
        );
        for name in ["main", "v1.0", "feature/ä@1", "0123456"] {
            let parsed = Revision::parse(name).unwrap();
            assert_eq!(parsed, Revision::Name(name.to_owned()));
        }
        for text in [
            "",
            "--upload-pack=x",
            "-x",
            "a b",
            "a..b",
            "a^{}",
            "a:b",
            "a\n",
            "a.lock",
        ] {
            assert!(Revision::parse(text).is_err(), "{text:?}");
        }
    }
}
