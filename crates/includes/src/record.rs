use crate::{Answer, Library, LibraryError, Question};
use async_trait::async_trait;
use indexmap::IndexMap;
use parking_lot::Mutex;

/// A library that records the questions to another one, and its answers.
///
/// The caller keeps an [`Arc`](std::sync::Arc) of it to read the records.
#[derive(Debug)]
pub struct Recorder<L> {
    library: L,
    records: Mutex<IndexMap<Question, Record>>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The question, as it was first asked.
    pub question: Question,
    /// The latest answer; `None` while it is awaited.
    pub answer: Option<Result<Answer, LibraryError>>,
}

impl Record {
    /// Returns whether there is an answer.
    pub fn is_answered(&self) -> bool {
        matches!(self.answer, Some(Ok(_)))
    }
}

impl<L: Library> Recorder<L> {
    /// Returns a library that records the questions to `library`.
    pub fn new(library: L) -> Self {
        Self {
            library,
            records: Mutex::default(),
        }
    }

    /// Returns each question once, in the order in which they were first asked.
    pub fn records(&self) -> Vec<Record> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, IndexMap<Question, Record>> {
        self.records.lock()
    }
}

#[async_trait]
impl<L: Library> Library for Recorder<L> {
    async fn ask(&self, question: &Question, _etag: Option<&str>) -> Result<Answer, LibraryError> {
        let asked = || Record {
            question: question.clone(),
            answer: None,
        };
        self.lock().entry(question.clone()).or_insert_with(asked);
        // Without the `etag`: the content of an unchanged answer would not be known here.
        let answer = self.library.ask(question, None).await;
        if let Some(record) = self.lock().get_mut(question) {
            record.answer = Some(answer.clone());
        }
        answer
    }
}
