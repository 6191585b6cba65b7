//! A library with answers from the test, and a clock that the test moves.

use async_trait::async_trait;
use includes::{Answer, Clock, Library, LibraryError, Question};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

/// A library that gives the answers of the test, and records the questions.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    answers: Mutex<HashMap<Question, Result<Answer, LibraryError>>>,
    asked: Mutex<Vec<(Question, Option<String>)>>,
}

impl Scripted {
    pub(crate) fn say(&self, question: &Question, answer: Answer) {
        self.set(question, Ok(answer));
    }

    pub(crate) fn fail(&self, question: &Question, error: LibraryError) {
        self.set(question, Err(error));
    }

    fn set(&self, question: &Question, answer: Result<Answer, LibraryError>) {
        self.answers.lock().insert(question.clone(), answer);
    }

    /// Returns the number of questions since the last call.
    pub(crate) fn count(&self) -> usize {
        self.etags().len()
    }

    /// Returns the etags of the questions since the last call.
    pub(crate) fn etags(&self) -> Vec<Option<String>> {
        let asked = std::mem::take(&mut *self.asked.lock());
        asked.into_iter().map(|(_, etag)| etag).collect()
    }
}

#[async_trait]
impl Library for Scripted {
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError> {
        let asked = (question.clone(), etag.map(str::to_owned));
        self.asked.lock().push(asked);
        // Lets concurrent callers run.
        tokio::task::yield_now().await;
        let answers = self.answers.lock();
        let answer = answers.get(question).expect("no other question is asked");
        match answer {
            Ok(Answer::Body {
                etag: Some(now), ..
            }) if etag == Some(now) => Ok(Answer::Unchanged),
            answer => answer.clone(),
        }
    }
}

/// A clock that stands still until the test moves it.
#[derive(Debug)]
pub(crate) struct Still(Mutex<SystemTime>);

impl Still {
    pub(crate) fn at(seconds: u64) -> Self {
        Self(Mutex::new(crate::questions::at(seconds)))
    }

    pub(crate) fn advance(&self, seconds: u64) {
        *self.0.lock() += Duration::from_secs(seconds);
    }
}

impl Clock for Still {
    fn now(&self) -> SystemTime {
        *self.0.lock()
    }
}
