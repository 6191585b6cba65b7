//! Keeps answers, so that a question is not repeated before its answer is too old.

mod freshness;
mod memory;
mod silent;

pub use self::freshness::{Clock, SystemClock};
use self::freshness::{Step, step};
use self::memory::{Known, Memory};
use self::silent::SilentServers;
use crate::key::Key;
use crate::subject::Subject;
use crate::{
    Answer, FetchPolicy, Library, LibraryError, Note, Notes, Question, Store, StoreError,
    StoredAnswer,
};
use async_trait::async_trait;
use executor_core::HumanDuration;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::OnceCell;

/// The default for the greatest age of an answer that may change.
const MAX_AGE: Duration = Duration::from_mins(10);

/// How long to wait for a server when an old answer exists.
///
/// This is a little more than one attempt takes, and less than half of the time that a pipeline may take,
/// so that a second server has its turn.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(12);

/// A library that keeps the answers of another one.
///
/// An answer that never changes is requested once per user and machine. One that may change is used
/// without asking while it is young; then the server is asked whether it changed. If the server cannot
/// be reached, the old answer is used and a [`Note`] says so. A refusal by the server is final. Equal
/// questions at the same time are asked once.
#[derive(Debug)]
pub struct Cached<L> {
    library: L,
    store: Store,
    fetching: FetchPolicy,
    notes: Notes,
    max_age: Duration,
    clock: Arc<dyn Clock>,
    memory: Memory,
    pending: PendingQuestions,
    silent: SilentServers,
    /// Set after the first failure of the store, which is then not used any more.
    broken: AtomicBool,
}

impl<L: Library> Cached<L> {
    /// Returns a library that keeps the answers of `library` in `store`.
    pub fn new(library: L, store: Store, fetching: FetchPolicy, notes: Notes) -> Self {
        Self {
            library,
            store,
            fetching,
            notes,
            max_age: MAX_AGE,
            clock: Arc::new(SystemClock),
            memory: Memory::default(),
            pending: PendingQuestions::default(),
            silent: SilentServers::default(),
            broken: AtomicBool::new(false),
        }
    }

    /// Sets the greatest age of answers that may change, for questions that do not name one.
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
        // Content at a commit never changes. But that it is absent may come from a server that does not have
        // the commit yet.
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
                let kept = StoredAnswer {
                    checked: now,
                    ..known.kept
                };
                Ok(self.keep(key, question, kept, now))
            }
            (Ok(Answer::Unchanged), None) => Err(LibraryError::Unavailable(
                "the server reports no change, of an answer that it never sent".to_owned(),
            )),
            // The file may appear at any moment, and the user who adds it runs again at once.
            (Ok(Answer::Absent), _) if !question.is_settled() => {
                self.forget(key, question);
                Ok(Answer::Absent)
            }
            (Ok(answer), _) => {
                let kept = StoredAnswer {
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

    /// Asks the library, and waits only for a short time if there is an old answer.
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
        let answered = tokio::time::timeout(REFRESH_TIMEOUT, asked).await;
        answered.unwrap_or_else(|_| {
            Err(LibraryError::Unavailable(format!(
                "{} did not answer within {}",
                Subject::of(question).server(),
                HumanDuration(REFRESH_TIMEOUT)
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

    fn keep(&self, key: Key, question: &Question, kept: StoredAnswer, now: SystemTime) -> Answer {
        self.with_store(|store| store.put(question, &kept));
        self.remember(key, kept, now)
    }

    /// Keeps an answer in memory alone, and returns it.
    fn remember(&self, key: Key, kept: StoredAnswer, now: SystemTime) -> Answer {
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
        self.remember(key, known.kept, now)
    }

    /// Uses the store, which is not used any more after its first error: a run does not depend on it.
    ///
    /// Its files are small and local, so blocking here is short.
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
        let pending = self.pending.join(key);
        let answered = pending.get_or_init(|| self.answer(key, question)).await;
        self.pending.remove(key, &pending);
        let answer = answered.clone()?;
        let is_same = match &answer {
            Answer::Body { etag: now, .. } => etag.is_some() && now.as_deref() == etag,
            Answer::Unchanged | Answer::Absent => false,
        };
        Ok(if is_same { Answer::Unchanged } else { answer })
    }
}

/// The answer to a question, shared by all that wait for it.
type PendingAnswer = Arc<OnceCell<Result<Answer, LibraryError>>>;

/// The questions that are being asked now.
#[derive(Debug, Default)]
struct PendingQuestions(Mutex<HashMap<Key, PendingAnswer>>);

impl PendingQuestions {
    /// Returns the cell that receives the answer.
    fn join(&self, key: Key) -> PendingAnswer {
        let mut pending = self.0.lock();
        Arc::clone(pending.entry(key).or_default())
    }

    /// Removes an answered question, so that the next caller asks again.
    fn remove(&self, key: Key, answered: &PendingAnswer) {
        let mut pending = self.0.lock();
        if pending
            .get(&key)
            .is_some_and(|it| Arc::ptr_eq(it, answered))
        {
            pending.remove(&key);
        }
    }
}
