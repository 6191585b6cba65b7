use crate::lock_file::{LockedAnswer, LockedText, RENEW, TextState, open_texts};
use crate::subject::Subject;
use crate::{Answer, FetchPolicy, Library, LibraryError, LockFile, Note, Notes, Question};
use async_trait::async_trait;
use gitlab_api::Instance;
use std::path::PathBuf;

/// A library that answers from a lock file first.
///
/// So a pipeline is the same on every machine until the next `runwright vendor`, even with
/// [`FetchPolicy::Refresh`]. Other questions go to the library below, with a [`Note`]; offline they are
/// refused.
#[derive(Debug)]
pub struct Locked<L> {
    library: L,
    top: PathBuf,
    file: LockFile,
    own: Option<Instance>,
    fetching: FetchPolicy,
    notes: Notes,
}

impl<L: Library> Locked<L> {
    /// Returns a library that answers from `file`, with its texts below `top`, before it asks `library`.
    pub fn new(
        library: L,
        top: impl Into<PathBuf>,
        file: LockFile,
        fetching: FetchPolicy,
        notes: Notes,
    ) -> Self {
        Self {
            library,
            top: top.into(),
            file,
            own: None,
            fetching,
            notes,
        }
    }

    /// Sets the project's own GitLab for this user. Questions to it match entries of the project's own
    /// GitLab in the lock file.
    pub fn with_own(mut self, own: Option<Instance>) -> Self {
        self.own = own;
        self
    }

    fn answer(&self, question: &Question, answer: &LockedAnswer) -> Result<Answer, LibraryError> {
        if self.fetching == FetchPolicy::Refresh {
            self.notes.add(Note::Pinned);
        }
        match answer {
            LockedAnswer::Commit(id) => Ok(body(id.as_bytes())),
            LockedAnswer::Absent => Ok(Answer::Absent),
            LockedAnswer::NoReference => Err(LibraryError::NoReference(reference(question))),
            LockedAnswer::Text(text) => self.read(text),
        }
    }

    fn read(&self, text: &LockedText) -> Result<Answer, LibraryError> {
        let state = open_texts(&self.top).and_then(|texts| text.state(texts.as_ref()));
        let damaged = |reason: String| LibraryError::Damaged {
            reason,
            help: Some(RENEW.to_owned()),
        };
        let (path, locked) = (text.path(), text.digest);
        let state = state.map_err(|error| LibraryError::Damaged {
            reason: error.to_string(),
            help: error.help,
        });
        match state? {
            TextState::Same(bytes) => Ok(body(&bytes)),
            TextState::Missing => Err(damaged(format!(
                "`{path}` is missing, and {} requires it",
                LockFile::NAME
            ))),
            TextState::Changed(Some(found)) => Err(damaged(format!(
                "`{path}` was changed: its digest is {found}, and {} has {locked}",
                LockFile::NAME
            ))),
            TextState::Changed(None) => Err(damaged(format!(
                "`{path}` is not a file with the digest {locked}, which {} requires",
                LockFile::NAME
            ))),
        }
    }
}

fn body(bytes: &[u8]) -> Answer {
    Answer::Body {
        bytes: bytes.into(),
        etag: None,
    }
}

fn reference(question: &Question) -> String {
    match question {
        Question::Commit { reference, .. } => {
            reference.clone().unwrap_or_else(|| "HEAD".to_owned())
        }
        Question::File { sha, .. } | Question::Tree { sha, .. } => sha.clone(),
        Question::Tags { .. } | Question::Page { .. } | Question::Template { .. } => String::new(),
    }
}

#[async_trait]
impl<L: Library> Library for Locked<L> {
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError> {
        if let Some(answer) = self.file.find(question, self.own.as_ref()) {
            return self.answer(question, answer);
        }
        let what = Subject::of(question).to_string();
        if self.fetching == FetchPolicy::Offline {
            return Err(LibraryError::NotLocked(format!(
                "{} does not have {what}, and nothing is fetched while offline",
                LockFile::NAME
            )));
        }
        self.notes.add(Note::NotLocked { what });
        self.library.ask(question, etag).await
    }
}
