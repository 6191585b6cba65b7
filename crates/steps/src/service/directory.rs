//! The directory of a request: its scripts, the files of its steps, and its log.

use std::io;
use std::path::{Path, PathBuf};

use process::{make_private_dir, remove_tree};
use sha2::{Digest, Sha256};
use tonic::Status;

use super::variable_files::VariableFiles;

/// The longest id that is accepted.
const LONGEST_ID: usize = 1024;

/// The longest id that is used as a directory name.
const LONGEST_PLAIN: usize = 64;

/// Refuses an id that cannot name a request.
pub(crate) fn check_id(id: &str) -> Result<(), Status> {
    let wrong = if id.is_empty() {
        "the id of the request is empty"
    } else if id.len() > LONGEST_ID {
        "the id of the request is longer than 1024 bytes"
    } else if id.chars().any(char::is_control) {
        "the id of the request holds control characters"
    } else {
        return Ok(());
    };
    Err(Status::invalid_argument(wrong))
}

/// Returns the name of a request's directory: the id, or its checksum if the id is not safe as a name.
fn name(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if id.len() <= LONGEST_PLAIN && id.bytes().all(plain) {
        return format!("id-{id}");
    }
    format!("sum-{:x}", Sha256::digest(id))
}

/// The directory of a request, with its file variables. Dropping it removes both.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    files: Option<VariableFiles>,
}

impl Directory {
    /// Creates the directory of a request.
    pub(crate) fn create(parent: &Path, id: &str) -> io::Result<Self> {
        let path = parent.join(name(id));
        // Only services create directories here, so an existing one is left from a service that was killed.
        remove_tree(&path)?;
        make_private_dir(&path)?;
        Ok(Self { path, files: None })
    }

    /// Takes over files that are removed with the directory.
    pub(crate) fn take_files(&mut self, files: VariableFiles) {
        self.files = Some(files);
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    pub(crate) fn script(&self, number: usize) -> PathBuf {
        self.path.join(format!("script-{number}"))
    }

    /// Returns the directory for the files of a step.
    pub(crate) fn exchange(&self, number: usize) -> PathBuf {
        self.path.join(format!("step-{number}"))
    }

    /// Returns the directory for fetched files.
    pub(crate) fn fetched(&self, number: u64) -> PathBuf {
        self.path.join(format!("fetched-{number}"))
    }
    /// Removes the directory with its content.
    pub(crate) fn remove(&self) {
        if let Some(files) = &self.files {
            files.remove();
        }
        if let Err(error) = remove_tree(&self.path) {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, path = %self.path.display(), "Could not remove the directory of a request.");
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_different() {
        let check = |id: &str, plain: bool| {
            let name = name(id);
            assert_eq!(name == format!("id-{id}"), plain, "{id}");
            assert!(
                !name.contains(['/', '\0', '.']) && name.len() < 80,
                "{name}"
            );
        };
        check("1234", true);
        check("1234-run", true);
        check("../x", false);
        check("..", false);
        check("a/b", false);
        check("a b", false);
        check("ä", false);
        check(&"1".repeat(65), false);
        assert_ne!(name("../x"), name("../y"));
    }

    #[test]
    fn invalid_id_is_refused() {
        let check = |id: &str, taken: bool| assert_eq!(check_id(id).is_ok(), taken, "{id:?}");
        check("1", true);
        check("../x", true);
        check("", false);
        check("a\0b", false);
        check("a\nb", false);
        check(&"1".repeat(LONGEST_ID), true);
        check(&"1".repeat(1 << 20), false);
    }

    #[test]
    fn directory_is_removed_with_its_owner() {
        let parent = tempfile::tempdir().unwrap();
        let old = parent.path().join("id-1");
        std::fs::create_dir(&old).unwrap();
        std::fs::write(old.join("log"), "old").unwrap();
        let directory = Directory::create(parent.path(), "1").unwrap();
        assert_eq!(directory.log(), old.join("log"));
        assert!(!directory.log().exists());
        drop(directory);
        assert!(!old.exists());
    }
}
