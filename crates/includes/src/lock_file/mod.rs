//! The lock file: answers from the last `runwright vendor`.

mod error;
mod locked_answer;
mod parse;
mod read;
mod row;
mod subjects;
mod text_name;
mod write;

pub use error::LockFileError;
pub(crate) use error::RENEW;
pub(crate) use locked_answer::{LockedAnswer, LockedText};
pub(crate) use read::{TextState, open_texts};
pub(crate) use text_name::is_text_name;

use crate::subject::Subject;
use crate::{Question, Record};
use gitlab_api::Instance;
use std::collections::BTreeMap;

/// The answers from the last `runwright vendor`.
///
/// It holds the ids of commits and the digests of texts; the texts are in files of their own. It holds
/// no secret: of an address with a user or a query, it has the rest, and the digest of the whole.
///
/// ```toml
/// version = 1
/// gitlab = "https://gitlab.example.com"
///
/// [[commit]]
/// project = "group/project"
/// reference = "main"
/// sha = "5b4b0ad0e1e4d9a9a9f7a3a6ad4b4f3a0c1d2e3f"
///
/// [[file]]
/// project = "group/project"
/// sha = "5b4b0ad0e1e4d9a9a9f7a3a6ad4b4f3a0c1d2e3f"
/// path = "lint.yml"
/// digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
/// size = 0
/// text = "e3b0c44298fc1c14-lint.yml"
/// ```
///
/// Its readers may have other settings than its writer. So entries on the project's own GitLab have no
/// `instance`, whatever its address is for each user. Another GitLab is named as in the addresses of
/// components, and a template only by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    /// The project's own GitLab, for the writer of the file; `None` if it was not asked.
    own: Option<Instance>,
    entries: BTreeMap<Subject, LockedAnswer>,
}

impl LockFile {
    /// The file's name, at the top of a project.
    pub const NAME: &'static str = ".runwright.lock";
    /// The directory of the texts, from the top of the project.
    pub const TEXTS: &'static str = ".runwright/vendor";
    /// The version that this program writes.
    pub const VERSION: i64 = 1;

    /// Returns the answers of a run, without temporary failures such as a server that could not be
    /// reached. `own` is the project's own GitLab.
    pub fn from_records(records: &[Record], own: Option<&Instance>) -> Self {
        let mut file = Self::of(own.cloned());
        for record in records {
            if let Some(answer) = LockedAnswer::of(record) {
                file.insert(subjects::subject(&record.question, own), answer);
            }
        }
        if !file.entries.keys().any(Subject::is_own) {
            file.own = None;
        }
        file
    }

    /// Returns an empty file.
    pub(super) fn of(own: Option<Instance>) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Returns the project's own GitLab for the writer of the file, if it was asked.
    pub fn own(&self) -> Option<&Instance> {
        self.own.as_ref()
    }

    /// Returns the number of answers.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether the file has no answers.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the answer to a question; `own` is the project's own GitLab for this user.
    pub(crate) fn find(
        &self,
        question: &Question,
        own: Option<&Instance>,
    ) -> Option<&LockedAnswer> {
        self.entry(question, own).map(|(_, answer)| answer)
    }

    /// Returns the answer to a question with its subject in the file.
    pub(crate) fn entry(
        &self,
        question: &Question,
        own: Option<&Instance>,
    ) -> Option<(&Subject, &LockedAnswer)> {
        let subjects = subjects::subjects(question, own, self.own());
        subjects
            .iter()
            .find_map(|it| self.entries.get_key_value(it))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Subject, &LockedAnswer)> {
        self.entries.iter()
    }

    /// Adds an entry; returns false if the file already has the subject.
    pub(super) fn insert(&mut self, subject: Subject, answer: LockedAnswer) -> bool {
        self.entries.insert(subject, answer).is_none()
    }
}
