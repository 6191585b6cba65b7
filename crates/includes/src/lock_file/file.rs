use super::locked_answer::LockedAnswer;
use crate::key::Key;
use crate::subject::Subject;
use crate::{Question, Record};
use std::collections::BTreeMap;
use std::collections::HashMap;

/// The answers that were given when it was written.
///
/// Ids of commits stand in it; texts stand in files of their own, and their digests here. It has no
/// secret: of an address with a user or a query, the rest is written, and the digest of the whole.
///
/// ```toml
/// version = 1
///
/// [[commit]]
/// instance = "https://gitlab.com"
/// project = "group/project"
/// reference = "main"
/// sha = "5b4b0ad0e1e4d9a9a9f7a3a6ad4b4f3a0c1d2e3f"
///
/// [[file]]
/// instance = "https://gitlab.com"
/// project = "group/project"
/// sha = "5b4b0ad0e1e4d9a9a9f7a3a6ad4b4f3a0c1d2e3f"
/// path = "lint.yml"
/// digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
/// size = 0
/// text = "e3b0c44298fc1c14-lint.yml"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    entries: BTreeMap<Subject, LockedAnswer>,
    /// Which entry answers a question.
    subjects: HashMap<Key, Subject>,
}

impl LockFile {
    /// Its name, at the top of a project.
    pub const NAME: &'static str = ".runwright.lock";
    /// The directory of the texts, from the top of the project.
    pub const TEXTS: &'static str = ".runwright/vendor";
    /// What the files of this program say they are.
    pub const VERSION: i64 = 1;

    /// Returns the answers of a run, without those that may be different next time: that a
    /// server could not be reached, or refused.
    pub fn from_records(records: &[Record]) -> Self {
        let mut file = Self::default();
        for record in records {
            if let Some(answer) = LockedAnswer::of(record) {
                file.insert(Subject::of(&record.question), answer);
            }
        }
        file
    }

    /// Returns whether it has an answer to a question.
    pub fn has(&self, question: &Question) -> bool {
        self.find(question).is_some()
    }

    /// Returns how many questions it has answers to.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether it has no answer at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn find(&self, question: &Question) -> Option<&LockedAnswer> {
        let subject = self.subjects.get(&Key::of(question))?;
        self.entries.get(subject)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Subject, &LockedAnswer)> {
        self.entries.iter()
    }

    /// Adds an entry; returns whether there was none for the question.
    pub(super) fn insert(&mut self, subject: Subject, answer: LockedAnswer) -> bool {
        self.subjects
            .insert(Key::of_subject(&subject), subject.clone());
        self.entries.insert(subject, answer).is_none()
    }
}
