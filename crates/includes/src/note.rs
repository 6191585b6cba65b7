use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a user should know of an answer that was given nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Note {
    /// The server could not be asked, so what it answered before was used.
    Old {
        /// What was asked for.
        what: String,
        /// How old the answer is, unless the clock was put back since.
        age: Option<Duration>,
        /// Why the server could not be asked.
        reason: String,
    },
    /// Answers cannot be kept for the next time, or what was kept cannot be read.
    NotKept {
        /// Why.
        reason: String,
    },
    /// The lock file does not have it, so the server was asked.
    NotLocked {
        /// What was asked for.
        what: String,
    },
    /// Fresh answers were wanted, but the lock file says what they are.
    Pinned,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Old { what, age, reason } => {
                let age = age.map_or_else(|| "an unknown time".to_owned(), words);
                write!(f, "{what}: used as it was {age} ago, because {reason}")
            }
            Self::NotKept { reason } => write!(f, "what is fetched is not kept: {reason}"),
            Self::NotLocked { what } => write!(
                f,
                "{} does not have {what}; `runwright vendor` adds it",
                crate::LockFile::NAME
            ),
            Self::Pinned => write!(
                f,
                "{} decides, also when fresh answers are wanted; `runwright vendor` renews it",
                crate::LockFile::NAME
            ),
        }
    }
}

/// Returns a duration as people say it.
fn words(age: Duration) -> String {
    let seconds = age.as_secs();
    let (number, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86400 => (seconds / 3600, "hour"),
        _ => (seconds / 86400, "day"),
    };
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

/// The notes of a run: whoever has something to say adds to them, and whoever shows them takes them.
///
/// Clones are the same notes.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    /// Adds a note, unless there is an equal one.
    pub fn add(&self, note: Note) {
        let mut notes = self.0.lock();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Returns the notes in the order they came, and keeps none.
    pub fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.0.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_said_as_people_say_it() {
        let check = |seconds, expect: &str| {
            assert_eq!(words(Duration::from_secs(seconds)), expect);
        };
        check(0, "0 seconds");
        check(1, "1 second");
        check(119, "1 minute");
        check(7200, "2 hours");
        check(86400 * 3, "3 days");
    }

    #[test]
    fn equal_notes_are_told_once() {
        let notes = Notes::default();
        notes.add(Note::Pinned);
        notes.clone().add(Note::Pinned);
        assert_eq!(notes.take(), [Note::Pinned]);
        assert_eq!(notes.take(), []);
    }
}
