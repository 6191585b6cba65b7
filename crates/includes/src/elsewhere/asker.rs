use super::refused::{failed, of_library};
use crate::{Answer, Library, LibraryError, Question};
use parking_lot::Mutex;
use pipeline::include::{IncludeError, IncludeFailure};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{OnceCell, Semaphore};

/// How many questions are asked at the same time.
const AT_ONCE: usize = 8;
/// How many of these may be for addresses that files name.
const PAGES_AT_ONCE: usize = 4;

type Told = Result<Option<Arc<[u8]>>, LibraryError>;

/// Asks a library each question once, however many want to know, and not too many at a time.
#[derive(Debug)]
pub(super) struct Asker {
    library: Arc<dyn Library>,
    told: Mutex<HashMap<Question, Arc<OnceCell<Told>>>>,
    places: Semaphore,
    pages: Semaphore,
    bytes_left: Mutex<usize>,
}

impl Asker {
    pub(super) fn new(library: Arc<dyn Library>, bytes: usize) -> Self {
        Self {
            library,
            told: Mutex::default(),
            places: Semaphore::new(AT_ONCE),
            pages: Semaphore::new(PAGES_AT_ONCE),
            bytes_left: Mutex::new(bytes),
        }
    }

    /// Returns what is there; nothing if it is not there.
    pub(super) async fn ask(&self, question: Question) -> Result<Option<Arc<[u8]>>, IncludeError> {
        let cell = {
            let mut told = self.told.lock();
            Arc::clone(told.entry(question.clone()).or_default())
        };
        // Who asks first asks for all; if he gives up, the next one asks.
        let told = cell.get_or_init(|| self.ask_library(&question)).await;
        match told {
            Ok(body) => Ok(body.clone()),
            Err(error) => Err(of_library(error)),
        }
    }

    /// Returns the text of what is there; nothing if it is not there.
    pub(super) async fn text(&self, question: Question) -> Result<Option<String>, IncludeError> {
        let body = self.ask(question).await?;
        body.as_deref().map(decoded).transpose()
    }

    async fn ask_library(&self, question: &Question) -> Told {
        let closed = |_| LibraryError::Unavailable("nothing is asked any more".to_owned());
        let _page = match question {
            Question::Page { .. } | Question::Template { .. } => {
                Some(self.pages.acquire().await.map_err(closed)?)
            }
            _ => None,
        };
        let _place = self.places.acquire().await.map_err(closed)?;
        match self.library.ask(question, None).await? {
            Answer::Body { bytes, .. } => {
                self.count(bytes.len())?;
                Ok(Some(bytes))
            }
            Answer::Absent => Ok(None),
            Answer::Unchanged => Err(LibraryError::Unavailable(
                "the answer is that nothing changed, which was not the question".to_owned(),
            )),
        }
    }

    /// Counts the bytes of an answer.
    fn count(&self, bytes: usize) -> Result<(), LibraryError> {
        let mut left = self.bytes_left.lock();
        *left = left.checked_sub(bytes).ok_or_else(|| {
            LibraryError::Unavailable("the included files are too large together".to_owned())
        })?;
        Ok(())
    }
}

/// Returns the text of a file.
pub(super) fn decoded(bytes: &[u8]) -> Result<String, IncludeError> {
    let text = yaml::decode(bytes.to_vec());
    text.map_err(|error| failed(IncludeFailure::Unreadable, error.to_string(), None))
}
