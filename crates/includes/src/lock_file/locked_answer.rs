use crate::question::is_commit;
use crate::{Answer, Digest, LibraryError, Record};

/// An answer in a lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LockedAnswer {
    /// A commit's id.
    Commit(String),
    /// A text, in a file of its own.
    Text(LockedText),
    /// It does not exist.
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
    /// Returns the locked form of an answer; `None` if the answer may differ next time.
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
