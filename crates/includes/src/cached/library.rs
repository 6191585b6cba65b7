use super::flights::Flights;
use super::freshness::{Step, step};
use super::memory::{Known, Memory};
use super::silent::Silent;
use crate::key::Key;
use crate::subject::Subject;
use crate::{
    Answer, Clock, Fetching, Kept, Library, LibraryError, Note, Notes, Question, Store, StoreError,
    SystemClock,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// How old an answer that may change can be, unless said otherwise.
const MAX_AGE: Duration = Duration::from_mins(10);

/// For so long a server is waited for when there is an old answer: a little more than one attempt
/// takes, and less than half of what a pipeline may take, so that a second server has its turn.
const PATIENCE: Duration = Duration::from_secs(12);

/// A library that keeps the answers of another one.
///
/// What never changes is asked for once per user and machine. What may change is used without
/// asking while it is young; then the server is asked whether it changed. If it cannot be
/// reached, what it said before is used, and a [`Note`] says so; but a server that refuses is
/// taken at its word. Equal questions at the same time are asked once.
#[derive(Debug)]
pub struct Cached<L> {
    library: L,
    store: Store,
    fetching: Fetching,
    notes: Notes,
    max_age: Duration,
    clock: Arc<dyn Clock>,
    memory: Memory,
    flights: Flights,
    silent: Silent,
    /// Whether the store failed, and is left alone since.
    broken: AtomicBool,
}

impl<L: Library> Cached<L> {
    /// Returns a library that keeps the answers of `library` in `store`.
    pub fn new(library: L, store: Store, fetching: Fetching, notes: Notes) -> Self {
        Self {
            library,
            store,
            fetching,
            notes,
            max_age: MAX_AGE,
            clock: Arc::new(SystemClock),
            memory: Memory::default(),
            flights: Flights::default(),
            silent: Silent::default(),
            broken: AtomicBool::new(false),
        }
    }

    /// Lets answers that may change be so old, unless the question says how old they may be.
    pub fn with_max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// Takes the time from another clock than this machine's.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    async fn answer(&self, key: Key, question: &Question) -> Result<Answer, LibraryError> {
        let known = self.known(key, question);
        let now = self.clock.now();
        let times = known.as_ref().map(Known::times);
        let limit = self.limit(question);
        // What is at a commit is there for ever. That it is not there may be the word of a server that does
        // not have the commit yet.
        let is_missing = |known: &Known| known.kept.answer == Answer::Absent;
        let settled = question.is_settled() && !known.as_ref().is_some_and(is_missing);
        match (step(self.fetching, settled, times, now, limit), known) {
            (Step::Use, Some(known)) => Ok(known.kept.answer),
            (Step::Ask, known) => self.fetch(key, question, known, now).await,
            (Step::Use | Step::Refuse, _) => Err(LibraryError::Offline),
        }
    }

    async fn fetch(
        &self,
        key: Key,
        question: &Question,
        known: Option<Known>,
        now: SystemTime,
    ) -> Result<Answer, LibraryError> {
        let subject = Subject::of(question);
        let silent = known
            .as_ref()
            .and(self.silent.reason(subject.server(), now));
        let answered = if let Some(reason) = silent {
            Err(LibraryError::Unavailable(reason))
        } else {
            let answered = self.ask_library(question, known.as_ref()).await;
            if let Err(LibraryError::Unavailable(reason)) = &answered {
                self.silent.add(subject.server(), now, reason);
            }
            answered
        };
        match (answered, known) {
            (Ok(Answer::Unchanged), Some(known)) => {
                let kept = Kept {
                    checked: now,
                    ..known.kept
                };
                Ok(self.keep(key, question, kept, now))
            }
            (Ok(Answer::Unchanged), None) => Err(LibraryError::Unavailable(
                "the server says that nothing changed, of what it never sent".to_owned(),
            )),
            // It may be there in a moment, and whoever puts it there tries again at once.
            (Ok(Answer::Absent), _) if !question.is_settled() => {
                self.forget(key, question);
                Ok(Answer::Absent)
            }
            (Ok(answer), _) => {
                let kept = Kept {
                    answer,
                    fetched: now,
                    checked: now,
                };
                Ok(self.keep(key, question, kept, now))
            }
            (Err(LibraryError::Unavailable(reason)), Some(known)) => {
                Ok(self.use_old(key, question, known, now, reason))
            }
            (Err(error @ LibraryError::NoReference(_)), _) => {
                self.forget(key, question);
                Err(error)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Asks, and does not wait for long when there is an old answer.
    async fn ask_library(
        &self,
        question: &Question,
        known: Option<&Known>,
    ) -> Result<Answer, LibraryError> {
        let etag = known.and_then(|known| known.kept.etag());
        let asked = self.library.ask(question, etag);
        if known.is_none() {
            return asked.await;
        }
        let answered = tokio::time::timeout(PATIENCE, asked).await;
        answered.unwrap_or_else(|_| {
            Err(LibraryError::Unavailable(format!(
                "{} did not answer within {} s",
                Subject::of(question).server(),
                PATIENCE.as_secs()
            )))
        })
    }

    fn limit(&self, question: &Question) -> Duration {
        match question {
            Question::Page { age: Some(age), .. } => Duration::from_secs(*age),
            _ => self.max_age,
        }
    }

    fn known(&self, key: Key, question: &Question) -> Option<Known> {
        let known = self.memory.get(key);
        if known.is_some() {
            return known;
        }
        let kept = self.with_store(|store| store.get(question)).flatten()?;
        Some(Known { kept, asked: None })
    }

    fn keep(&self, key: Key, question: &Question, kept: Kept, now: SystemTime) -> Answer {
        self.with_store(|store| store.put(question, &kept));
        let answer = kept.answer.clone();
        let asked = Some(now);
        self.memory.put(key, Known { kept, asked });
        answer
    }

    fn forget(&self, key: Key, question: &Question) {
        self.memory.forget(key);
        self.with_store(|store| store.forget(question));
    }

    fn use_old(
        &self,
        key: Key,
        question: &Question,
        known: Known,
        now: SystemTime,
        reason: String,
    ) -> Answer {
        self.notes.add(Note::Old {
            what: Subject::of(question).to_string(),
            age: now.duration_since(known.kept.checked).ok(),
            reason,
        });
        let Known { kept, .. } = known;
        let answer = kept.answer.clone();
        let asked = Some(now);
        self.memory.put(key, Known { kept, asked });
        answer
    }

    /// Uses the store, which is left alone after its first error: a run does not depend on it.
    ///
    /// Its files are small and near, so nobody waits long for them.
    fn with_store<T>(&self, work: impl FnOnce(&Store) -> Result<T, StoreError>) -> Option<T> {
        if self.broken.load(Ordering::Relaxed) {
            return None;
        }
        let failed = match work(&self.store) {
            Ok(value) => return Some(value),
            Err(failed) => failed,
        };
        self.broken.store(true, Ordering::Relaxed);
        let reason = failed.to_string();
        self.notes.add(Note::NotKept { reason });
        None
    }
}

#[async_trait]
impl<L: Library> Library for Cached<L> {
    async fn ask(&self, question: &Question, etag: Option<&str>) -> Result<Answer, LibraryError> {
        let key = Key::of(question);
        let flight = self.flights.join(key);
        let answered = flight.get_or_init(|| self.answer(key, question)).await;
        self.flights.land(key, &flight);
        let answer = answered.clone()?;
        let is_same = match &answer {
            Answer::Body { etag: now, .. } => etag.is_some() && now.as_deref() == etag,
            Answer::Unchanged | Answer::Absent => false,
        };
        Ok(if is_same { Answer::Unchanged } else { answer })
    }
}
