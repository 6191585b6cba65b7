use crate::{Answer, Library, LibraryError, Question};
use async_trait::async_trait;
use indexmap::IndexMap;
use parking_lot::Mutex;

/// A library that remembers what another one was asked, and what it answered.
///
/// Whoever wants to know keeps an [`Arc`](std::sync::Arc) of it, which is a library too.
#[derive(Debug)]
pub struct Recorded<L> {
    library: L,
    records: Mutex<IndexMap<Question, Record>>,
}

/// A question, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The question, as it was asked first.
    pub question: Question,
    /// The answer that was given last; nothing while it is waited for.
    pub answer: Option<Result<Answer, LibraryError>>,
}

impl Record {
    /// Returns whether there is an answer.
    pub fn is_answered(&self) -> bool {
        matches!(self.answer, Some(Ok(_)))
    }
}

impl<L: Library> Recorded<L> {
    /// Returns a library that remembers what `library` is asked from now on.
    pub fn new(library: L) -> Self {
        Self {
            library,
            records: Mutex::default(),
        }
    }

    /// Returns the questions in the order in which they were asked first, each once.
    pub fn records(&self) -> Vec<Record> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, IndexMap<Question, Record>> {
        self.records.lock()
    }
}

#[async_trait]
impl<L: Library> Library for Recorded<L> {
    async fn ask(&self, question: &Question, _etag: Option<&str>) -> Result<Answer, LibraryError> {
        let asked = || Record {
            question: question.clone(),
            answer: None,
        };
        self.lock().entry(question.clone()).or_insert_with(asked);
        // Without the name of what the asker has: what is unchanged would not be known here.
        let answer = self.library.ask(question, None).await;
        if let Some(record) = self.lock().get_mut(question) {
            record.answer = Some(answer.clone());
        }
        answer
    }
}
