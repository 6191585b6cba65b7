//! The files a vector names: those of the project, of other projects, and what changed.

use indexmap::IndexMap;
use pipeline::include::KnownFiles;
use pipeline::repository::{KnownRepository, Paths};
use serde::Deserialize;
use sha1::{Digest, Sha1};
use std::fmt::Write as _;
use std::sync::Arc;

/// Texts by path.
type Files = IndexMap<String, String>;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FilesInput {
    files: Files,
    projects: IndexMap<String, Files>,
    repo_files: Option<Vec<String>>,
    changes: Option<Vec<String>>,
}

impl FilesInput {
    pub(super) fn includes(&self) -> KnownFiles {
        let texts = |files: &Files| {
            let files = files.iter();
            files
                .map(|(path, text)| (path.clone(), Arc::from(text.as_str())))
                .collect()
        };
        KnownFiles {
            own: texts(&self.files),
            projects: self
                .projects
                .iter()
                .map(|(path, files)| (path.clone(), texts(files)))
                .collect(),
            ..KnownFiles::default()
        }
    }

    /// Returns the repository; a pipeline's `changes` and `repo_files` win over those here.
    pub(super) fn repository(&self, given: Option<&Self>) -> KnownRepository {
        let given = given.unwrap_or(self);
        let own = || self.files.keys().cloned().collect();
        let paths = |paths: &Files| paths.keys().cloned().collect::<Paths>();
        KnownRepository {
            changed: given
                .changes
                .clone()
                .or_else(|| self.changes.clone())
                .map(Paths::from),
            files: given.repo_files.clone().map_or_else(own, Paths::from),
            projects: self
                .projects
                .iter()
                .map(|(path, files)| (path.clone(), paths(files)))
                .collect(),
            blob_ids: self
                .files
                .iter()
                .map(|(path, text)| (path.clone(), blob_id(text)))
                .collect(),
            ..KnownRepository::default()
        }
    }
}

/// Returns the name Git gives a content.
fn blob_id(text: &str) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", text.len()));
    hash.update(text);
    hash.finalize().iter().fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}
