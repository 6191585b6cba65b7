use executor_core::HumanAge;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Something that the user should know about an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// The server could not be asked, so its previous answer was used.
    Old {
        /// The subject of the question.
        what: String,
        /// The age of the answer, unless the clock was set back since.
        age: Option<Duration>,
        /// Why the server could not be asked.
        reason: String,
    },
    /// Answers cannot be stored, or stored answers cannot be read.
    NotKept {
        /// Why.
        reason: String,
    },
    /// The lock file has no entry for the question, so the server was asked.
    NotLocked {
        /// The subject of the question.
        what: String,
    },
    /// Fresh answers were requested, but the lock file decides.
    Pinned,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old { what, age, reason } => {
                let age = age.map_or_else(
                    || "an unknown time".to_owned(),
                    |age| HumanAge(age).to_string(),
                );
                write!(f, "{what}: used as it was {age} ago, because {reason}")
            }
            Self::NotKept { reason } => write!(f, "fetched files are not kept: {reason}"),
            Self::NotLocked { what } => write!(
                f,
                "{} does not have {what}; `runwright vendor` adds it",
                crate::LockFile::NAME
            ),
            Self::Pinned => write!(
                f,
                "{} decides, even when fresh answers are requested; `runwright vendor` renews it",
                crate::LockFile::NAME
            ),
        }
    }
}

/// The notes of a run.
///
/// Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    /// Adds a note, unless an equal one is there.
    pub fn add(&self, note: Note) {
        let mut notes = self.0.lock();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Removes and returns the notes, in order.
    pub fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_notes_are_kept_once() {
        let notes = Notes::default();
        notes.add(Note::Pinned);
        notes.clone().add(Note::Pinned);
        assert_eq!(notes.take(), [Note::Pinned]);
        assert_eq!(notes.take(), []);
    }
}
