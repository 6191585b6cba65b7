//! A request's own directory: its scripts, what its steps exchange, and its log.

use std::io;
use std::path::{Path, PathBuf};

use process::{make_private_dir, remove_tree};
use sha2::{Digest, Sha256};
use tonic::Status;

use super::variable_files::VariableFiles;

/// The longest id that is taken.
const LONGEST_ID: usize = 1024;

/// The longest id that is also the name of a directory.
const LONGEST_PLAIN: usize = 64;

/// Refuses what cannot name a request.
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

/// Returns the name of a request's directory: the id, or its checksum where the id could lead elsewhere.
fn name(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if id.len() <= LONGEST_PLAIN && id.bytes().all(plain) {
        return format!("id-{id}");
    }
    format!("sum-{:x}", Sha256::digest(id))
}

/// The directory, and what the request has elsewhere. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    files: Option<VariableFiles>,
}

impl Directory {
    /// Makes the directory of a request below that of all requests.
    pub(crate) fn create(parent: &Path, id: &str) -> io::Result<Self> {
        let path = parent.join(name(id));
        // Nobody else makes directories here, so this one is what a service left behind that was killed.
        remove_tree(&path)?;
        make_private_dir(&path)?;
        Ok(Self { path, files: None })
    }

    /// Takes files that are to go with the directory.
    pub(crate) fn take_files(&mut self, files: VariableFiles) {
        self.files = Some(files);
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    pub(crate) fn script(&self, number: usize) -> PathBuf {
        self.path.join(format!("script-{number}"))
    }

    /// Returns where a step of a function has its files.
    pub(crate) fn exchange(&self, number: usize) -> PathBuf {
        self.path.join(format!("step-{number}"))
    }

    /// Returns where somebody puts what he brings for a step.
    pub(crate) fn brought(&self, number: u64) -> PathBuf {
        self.path.join(format!("brought-{number}"))
    }
}

impl Directory {
    /// Removes it with all it holds.
    pub(crate) fn remove(&self) {
        if let Some(files) = &self.files {
            files.remove();
        }
        if let Err(error) = remove_tree(&self.path) {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, path = %self.path.display(), "The directory of a request stays behind.");
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
    fn what_cannot_be_an_id_is_refused() {
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
    fn the_directory_goes_with_its_owner_and_replaces_an_old_one() {
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
