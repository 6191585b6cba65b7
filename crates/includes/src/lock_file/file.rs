use super::entry;
use super::locked_answer::LockedAnswer;
use crate::subject::Subject;
use crate::{Question, Record};
use gitlab_api::Instance;
use std::collections::BTreeMap;

/// The answers that were given when it was written.
///
/// Ids of commits stand in it; texts stand in files of their own, and their digests here. It has no
/// secret: of an address with a user or a query, the rest is written, and the digest of the whole.
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
/// Whoever reads it may have other settings than who wrote it. So what is asked of the project's own
/// GitLab has no `instance`, whatever its address is for whom; another GitLab is called as components
/// call it; and a template has its name alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    /// The project's own GitLab, for who wrote it; nothing when it was not asked.
    own: Option<Instance>,
    entries: BTreeMap<Subject, LockedAnswer>,
}

impl LockFile {
    /// Its name, at the top of a project.
    pub const NAME: &'static str = ".runwright.lock";
    /// The directory of the texts, from the top of the project.
    pub const TEXTS: &'static str = ".runwright/vendor";
    /// What the files of this program say they are.
    pub const VERSION: i64 = 1;

    /// Returns the answers of a run, without those that may be different next time: that a
    /// server could not be reached, or refused. `own` is the project's own GitLab.
    pub fn from_records(records: &[Record], own: Option<&Instance>) -> Self {
        let mut file = Self::of(own.cloned());
        for record in records {
            if let Some(answer) = LockedAnswer::of(record) {
                file.insert(entry::subject(&record.question, own), answer);
            }
        }
        if !file.entries.keys().any(Subject::is_own) {
            file.own = None;
        }
        file
    }

    /// Returns an empty one.
    pub(super) fn of(own: Option<Instance>) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Returns the project's own GitLab for who wrote the file, if something was asked there.
    pub fn own(&self) -> Option<&Instance> {
        self.own.as_ref()
    }

    /// Returns how many questions it has answers to.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether it has no answer at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the answer to a question of a user for whom `own` is the project's own GitLab.
    pub(crate) fn find(
        &self,
        question: &Question,
        own: Option<&Instance>,
    ) -> Option<&LockedAnswer> {
        self.entry(question, own).map(|(_, answer)| answer)
    }

    /// Returns what such an answer is about in the file, and the answer.
    pub(crate) fn entry(
        &self,
        question: &Question,
        own: Option<&Instance>,
    ) -> Option<(&Subject, &LockedAnswer)> {
        let subjects = entry::subjects(question, own, self.own());
        subjects
            .iter()
            .find_map(|it| self.entries.get_key_value(it))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Subject, &LockedAnswer)> {
        self.entries.iter()
    }

    /// Adds an entry; returns whether there was none for the question.
    pub(super) fn insert(&mut self, subject: Subject, answer: LockedAnswer) -> bool {
        self.entries.insert(subject, answer).is_none()
    }
}
