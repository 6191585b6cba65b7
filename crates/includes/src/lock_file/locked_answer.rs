use crate::question::is_commit;
use crate::{Answer, Digest, LibraryError, Record};

/// What a lock file knows of the answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LockedAnswer {
    /// A commit's id.
    Commit(String),
    /// A text, which stands in a file of its own.
    Text(LockedText),
    /// There is no such thing.
    Absent,
    /// The project has no such branch, tag or commit.
    NoReference,
}

/// A text beside the lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LockedText {
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    /// The name of its file in the directory of texts.
    pub(crate) name: String,
}

impl LockedAnswer {
    /// Returns what can be locked of an answer. What may be different next time cannot.
    pub(super) fn of(record: &Record) -> Option<Self> {
        match record.answer.as_ref()? {
            Ok(Answer::Absent) => Some(Self::Absent),
            Err(LibraryError::NoReference(_)) => Some(Self::NoReference),
            Ok(Answer::Unchanged) | Err(_) => None,
            Ok(Answer::Body { bytes, .. }) => {
                if matches!(record.question, crate::Question::Commit { .. })
                    && let Some(id) = std::str::from_utf8(bytes).ok().filter(|it| is_commit(it))
                {
                    return Some(Self::Commit(id.to_owned()));
                }
                let digest = Digest::of(bytes);
                Some(Self::Text(LockedText {
                    digest,
                    size: bytes.len() as u64,
                    name: super::text_name::text_name(&record.question, digest),
                }))
            }
        }
    }
}
