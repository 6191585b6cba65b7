//! A request from its start until it is forgotten.

use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use executor_core::{CancelCause, Cancellation, StopLevel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use trace::{SpoolReader, TracePipeline};

use super::course::{Course, Failure};
use super::directory::Directory;
use super::error::words;
use super::wishes::Wishes;

/// What is known of a request, shared by its task and by all who follow it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) directory: Directory,
    /// The program that runs its scripts, and where.
    pub(crate) command: Vec<String>,
    pub(crate) work_dir: String,
    pub(crate) cancellation: Cancellation,
    pub(crate) log: TracePipeline,
    /// One open file for all followers.
    pub(crate) log_reader: SpoolReader,
    /// Whether it has a time limit of its own.
    pub(crate) limited: bool,
    /// What its steps need from outside.
    pub(crate) wishes: Wishes,
    pub(crate) began: SystemTime,
    pub(crate) began_at: Instant,
    course: Mutex<Course>,
    times: Mutex<Times>,
    news: watch::Sender<u64>,
    dismissed: CancellationToken,
    gone: CancellationToken,
}

/// When something last happened to a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) output: Instant,
    pub(crate) asked: Instant,
}

/// The command of a request and its working directory.
pub(crate) struct RequestCommand {
    pub(crate) words: Vec<String>,
    pub(crate) work_dir: String,
}

/// The two ends of a request's log.
pub(crate) struct RequestLog {
    pub(crate) pipeline: TracePipeline,
    pub(crate) reader: SpoolReader,
}

impl Request {
    pub(crate) fn new(
        id: String,
        directory: Directory,
        command: RequestCommand,
        log: RequestLog,
        step_names: Vec<String>,
        wishes: Wishes,
    ) -> Self {
        let now = Instant::now();
        let times = Times {
            output: now,
            asked: now,
        };
        Self {
            id,
            directory,
            command: command.words,
            work_dir: command.work_dir,
            cancellation: Cancellation::new(),
            log: log.pipeline,
            log_reader: log.reader,
            limited: false,
            wishes,
            began: SystemTime::now(),
            began_at: now,
            course: Mutex::new(Course::new(step_names)),
            times: Mutex::new(times),
            news: watch::Sender::new(0),
            dismissed: CancellationToken::new(),
            gone: CancellationToken::new(),
        }
    }

    pub(crate) fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock()
    }

    /// Changes the course and tells all who follow.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Course)) {
        change(&mut self.course());
        self.tell();
    }

    /// Wakes all who follow.
    pub(crate) fn tell(&self) {
        self.news
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.course().ended.is_some()
    }

    /// Closes the log and notes the end.
    pub(crate) fn end(&self, failure: Option<Failure>) {
        let log = self.log.finish();
        self.update(|course| {
            course.end(failure, log.bytes);
            if let Some(error) = &log.spool_error {
                course.note_log_error(words(&**error));
            }
        });
        self.note_asked();
    }

    /// Asks for the end of its processes.
    pub(crate) fn stop(&self, level: StopLevel, cause: CancelCause) {
        match level {
            StopLevel::None => {}
            StopLevel::Cancel => self.cancellation.cancel(cause),
            StopLevel::Abort => self.cancellation.abort(cause),
        }
    }

    /// Says that nobody needs it any more: what runs is killed, then all is removed.
    pub(crate) fn dismiss(&self, cause: CancelCause) {
        self.stop(StopLevel::Abort, cause);
        self.dismissed.cancel();
    }

    /// Returns whether nobody needs it any more.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed.is_cancelled()
    }

    /// Waits until nobody needs it any more.
    pub(crate) async fn dismissed(&self) {
        self.dismissed.cancelled().await;
    }

    /// Says that all is removed.
    pub(crate) fn note_gone(&self) {
        self.gone.cancel();
    }

    /// Waits until all is removed.
    pub(crate) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    pub(crate) fn note_output(&self) {
        self.lock_times().output = Instant::now();
    }

    pub(crate) fn note_asked(&self) {
        self.lock_times().asked = Instant::now();
    }

    pub(crate) fn times(&self) -> Times {
        *self.lock_times()
    }

    fn lock_times(&self) -> MutexGuard<'_, Times> {
        self.times.lock()
    }

    /// Returns how long it runs.
    pub(crate) fn age(&self) -> Duration {
        self.began_at.elapsed()
    }
}
