use super::errors::{failed, of_library};
use crate::{Answer, Library, LibraryError, Question};
use parking_lot::Mutex;
use pipeline::include::{IncludeError, IncludeFailure};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{OnceCell, Semaphore};

/// How many questions may be asked at the same time.
const AT_ONCE: usize = 8;
/// How many of these may be for addresses from files.
const PAGES_AT_ONCE: usize = 4;

type SharedAnswer = Result<Option<Arc<[u8]>>, LibraryError>;

/// Asks a library each question once, and a limited number at a time.
#[derive(Debug)]
pub(super) struct AskOnce {
    library: Arc<dyn Library>,
    answers: Mutex<HashMap<Question, Arc<OnceCell<SharedAnswer>>>>,
    all: Semaphore,
    pages: Semaphore,
    bytes_left: Mutex<usize>,
}

impl AskOnce {
    pub(super) fn new(library: Arc<dyn Library>, bytes: usize) -> Self {
        Self {
            library,
            answers: Mutex::default(),
            all: Semaphore::new(AT_ONCE),
            pages: Semaphore::new(PAGES_AT_ONCE),
            bytes_left: Mutex::new(bytes),
        }
    }

    /// Returns the content; `None` if it does not exist.
    pub(super) async fn ask(&self, question: Question) -> Result<Option<Arc<[u8]>>, IncludeError> {
        let cell = {
            let mut answers = self.answers.lock();
            Arc::clone(answers.entry(question.clone()).or_default())
        };
        // The first caller asks for all. If its future is dropped, the next one asks.
        match cell.get_or_init(|| self.ask_library(&question)).await {
            Ok(body) => Ok(body.clone()),
            Err(error) => Err(of_library(error)),
        }
    }

    /// Returns the content as text; `None` if it does not exist.
    pub(super) async fn text(&self, question: Question) -> Result<Option<String>, IncludeError> {
        let body = self.ask(question).await?;
        body.as_deref().map(decoded).transpose()
    }

    async fn ask_library(&self, question: &Question) -> SharedAnswer {
        let closed = |_| LibraryError::Unavailable("the questions are closed".to_owned());
        let _page = match question {
            Question::Page { .. } | Question::Template { .. } => {
                Some(self.pages.acquire().await.map_err(closed)?)
            }
            _ => None,
        };
        let _permit = self.all.acquire().await.map_err(closed)?;
        match self.library.ask(question, None).await? {
            Answer::Body { bytes, .. } => {
                self.count(bytes.len())?;
                Ok(Some(bytes))
            }
            Answer::Absent => Ok(None),
            Answer::Unchanged => Err(LibraryError::Unavailable(
                "the server reports no change, although it was not asked for one".to_owned(),
            )),
        }
    }

    /// Subtracts an answer from the remaining bytes.
    fn count(&self, bytes: usize) -> Result<(), LibraryError> {
        let mut left = self.bytes_left.lock();
        *left = left.checked_sub(bytes).ok_or_else(|| {
            LibraryError::Unavailable("all included files together are too large".to_owned())
        })?;
        Ok(())
    }
}

/// Returns the text of a file.
pub(super) fn decoded(bytes: &[u8]) -> Result<String, IncludeError> {
    let text = yaml::decode(bytes.to_vec());
    text.map_err(|error| failed(IncludeFailure::Unreadable, error.to_string(), None))
}
