//! A request, from its start to its removal.

use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use executor_core::{CancelCause, Cancellation, StopLevel, TraceStream, chain};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use trace::{SpoolReader, TracePipeline};

use super::directory::Directory;
use super::host_requests::HostRequests;
use super::state::{Failure, RequestState};

/// A request, shared by its task and its followers.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) directory: Directory,
    /// The program that runs the scripts, and its arguments.
    pub(crate) command: Vec<String>,
    pub(crate) work_dir: String,
    pub(crate) cancellation: Cancellation,
    pub(crate) log: TracePipeline,
    /// One open file for all followers.
    pub(crate) log_reader: SpoolReader,
    /// Whether the request has its own time limit.
    pub(crate) limited: bool,
    /// What the steps request from the host.
    pub(crate) host_requests: HostRequests,
    pub(crate) started: SystemTime,
    pub(crate) started_at: Instant,
    state: Mutex<RequestState>,
    times: Mutex<Times>,
    changes: watch::Sender<u64>,
    dismissed: CancellationToken,
    removed: CancellationToken,
}

/// The times of the last events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) output: Instant,
    pub(crate) used: Instant,
}

/// The command for scripts, and where it runs.
pub(crate) struct RequestCommand {
    pub(crate) command: Vec<String>,
    pub(crate) work_dir: String,
}

/// The log of a request, and its reader.
pub(crate) struct RequestLog {
    pub(crate) log: TracePipeline,
    pub(crate) reader: SpoolReader,
}

impl Request {
    pub(crate) fn new(
        id: String,
        directory: Directory,
        command: RequestCommand,
        log: RequestLog,
        step_names: Vec<String>,
        host_requests: HostRequests,
    ) -> Self {
        let now = Instant::now();
        let times = Times {
            output: now,
            used: now,
        };
        Self {
            id,
            directory,
            command: command.command,
            work_dir: command.work_dir,
            cancellation: Cancellation::new(),
            log: log.log,
            log_reader: log.reader,
            limited: false,
            host_requests,
            started: SystemTime::now(),
            started_at: now,
            state: Mutex::new(RequestState::new(step_names)),
            times: Mutex::new(times),
            changes: watch::Sender::new(0),
            dismissed: CancellationToken::new(),
            removed: CancellationToken::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, RequestState> {
        self.state.lock()
    }

    /// Changes the state and notifies all followers.
    pub(crate) fn update(&self, change: impl FnOnce(&mut RequestState)) {
        change(&mut self.state());
        self.notify();
    }

    /// Notifies all followers.
    pub(crate) fn notify(&self) {
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Writes a line of the service itself to the log.
    pub(crate) fn log_line(&self, line: &str) {
        self.log.write(TraceStream::SYSTEM, line.as_bytes());
        self.log.write(TraceStream::SYSTEM, b"\n");
        self.notify();
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state().ended.is_some()
    }

    /// Closes the log and records the end.
    pub(crate) fn end(&self, failure: Option<Failure>) {
        let log = self.log.finish();
        self.update(|state| {
            state.end(failure, log.bytes);
            if let Some(error) = &log.spool_error {
                state.note_log_error(chain(&**error));
            }
        });
        self.note_used();
    }

    /// Stops the processes of the request.
    pub(crate) fn stop(&self, level: StopLevel, cause: CancelCause) {
        match level {
            StopLevel::None => {}
            StopLevel::Cancel => self.cancellation.cancel(cause),
            StopLevel::Abort => self.cancellation.abort(cause),
        }
    }

    /// Ends the request: its processes are killed, then its state is removed.
    pub(crate) fn dismiss(&self, cause: CancelCause) {
        self.stop(StopLevel::Abort, cause);
        self.dismissed.cancel();
    }

    /// Returns whether the request is being removed.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed.is_cancelled()
    }

    /// Waits until the request is being removed.
    pub(crate) async fn dismissed(&self) {
        self.dismissed.cancelled().await;
    }

    /// Records that everything is removed.
    pub(crate) fn set_removed(&self) {
        self.removed.cancel();
    }

    /// Waits until everything is removed.
    pub(crate) async fn removed(&self) {
        self.removed.cancelled().await;
    }

    pub(crate) fn note_output(&self) {
        self.lock_times().output = Instant::now();
    }

    pub(crate) fn note_used(&self) {
        self.lock_times().used = Instant::now();
    }

    pub(crate) fn times(&self) -> Times {
        *self.lock_times()
    }

    fn lock_times(&self) -> MutexGuard<'_, Times> {
        self.times.lock()
    }

    /// Returns the time since the start.
    pub(crate) fn age(&self) -> Duration {
        self.started_at.elapsed()
    }
}
