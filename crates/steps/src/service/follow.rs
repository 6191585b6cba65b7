//! Streams the log and the step results of a request, from any point, during the run and after it.

use std::sync::Arc;
use std::time::Duration;

use executor_core::TraceStream;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::Status;
use trace::LogEnd;

use super::ResponseStream;
use super::request::Request;
use super::step_mask::mask_result;
use crate::wire::v1::{FollowStepsResponse, StepResult};

/// The most bytes of a log in one message.
const PIECE: usize = 64 * 1024;

/// Fast output reaches the file a moment after its notification; the last check is after twice this time.
const LAST_CHECK: Duration = Duration::from_millis(256);

/// The next bytes of a log.
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    /// Whether they reached the end of the log when they were read.
    pub(crate) settled: bool,
    /// The output streams whose last line is incomplete, if known.
    pub(crate) open: u32,
}

/// Returns the bits of the output streams whose last line is incomplete.
fn open_bits(end: &LogEnd) -> u32 {
    let bit = |stream: TraceStream, bit| if end.open.contains(&stream) { bit } else { 0 };
    bit(TraceStream::STDOUT, 1) | bit(TraceStream::STDERR, 2)
}

/// A follower of one request.
struct Follower {
    request: Arc<Request>,
    changes: watch::Receiver<u64>,
    /// The next byte, or the next event.
    next: u64,
    /// The time until the next check without a notification.
    check_after: Option<Duration>,
}

impl Follower {
    fn new(request: Arc<Request>, next: u64) -> Self {
        request.note_used();
        let changes = request.changes();
        Self {
            request,
            changes,
            next,
            check_after: None,
        }
    }

    /// Waits for a notification, or for the next check.
    async fn wait(&mut self) {
        let Some(pause) = self.check_after else {
            // The sender lives as long as the request, which is held here.
            let _ = self.changes.changed().await;
            self.check_after = Some(Duration::from_millis(1));
            return;
        };
        let changed = timeout(pause, self.changes.changed()).await.is_ok();
        self.check_after = match pause {
            _ if changed => Some(Duration::from_millis(1)),
            pause if pause < LAST_CHECK => Some(pause * 2),
            _ => None,
        };
    }

    /// Returns the next piece of the log; `None` at its end.
    async fn piece(&mut self) -> Option<Result<Piece, Status>> {
        loop {
            // If this is the end before the check, it is still the end after it.
            let ended = self.request.has_ended();
            self.changes.mark_unchanged();
            if self.request.log_reader.available() > self.next {
                return Some(self.read());
            }
            if ended {
                self.request.note_used();
                return None;
            }
            self.wait().await;
        }
    }

    /// Reads the available bytes, up to the limit of a message.
    fn read(&mut self) -> Result<Piece, Status> {
        // A slow reader still counts as reading.
        self.request.note_used();
        let reader = &self.request.log_reader;
        let mut waiting = reader.available().saturating_sub(self.next);
        let end = (waiting <= PIECE as u64).then(|| self.request.log.end());
        if let Some(end) = &end {
            waiting = end.bytes.saturating_sub(self.next);
        }
        let mut bytes = vec![0; usize::try_from(waiting).unwrap_or(PIECE).min(PIECE)];
        let count = reader
            .read_at(self.next, &mut bytes)
            .map_err(|error| Status::internal(error.to_string()))?;
        if count == 0 {
            return Err(Status::internal("the log became shorter"));
        }
        bytes.truncate(count);
        self.next += count as u64;
        let end = end.filter(|end| end.bytes == self.next);
        Ok(Piece {
            bytes,
            settled: end.is_some(),
            open: end.map_or(0, |end| open_bits(&end)),
        })
    }

    /// Returns the next change of a step, masked; `None` after the last.
    async fn event(&mut self) -> Option<StepResult> {
        let mut event = self.next_event().await?;
        let log = &self.request.log;
        mask_result(&mut event, &|text| log.masked(text));
        Some(event)
    }

    /// Returns the next change of a step, unmasked.
    async fn next_event(&mut self) -> Option<StepResult> {
        loop {
            self.changes.mark_unchanged();
            {
                let state = self.request.state();
                let number = usize::try_from(self.next).unwrap_or(usize::MAX);
                let request = &self.request;
                if let Some(event) = state.event(number, &request.command, &request.work_dir) {
                    self.next += 1;
                    return Some(event);
                }
                if state.ended.is_some() {
                    return None;
                }
            }
            // The sender lives as long as the request, which is held here.
            let _ = self.changes.changed().await;
        }
    }
}

/// Streams the bytes of a request's log from an offset.
///
/// # Errors
///
/// When the offset is negative. One beyond the end is valid, since the log may grow.
pub(crate) fn logs<T: Send + 'static>(
    request: Arc<Request>,
    offset: i64,
    message: fn(Piece) -> T,
) -> Result<ResponseStream<T>, Status> {
    let offset =
        u64::try_from(offset).map_err(|_| Status::invalid_argument("the offset is negative"))?;
    let follower = Follower::new(request, offset);
    Ok(Box::pin(unfold(
        Some(follower),
        move |follower| async move {
            let mut follower = follower?;
            match follower.piece().await? {
                Ok(piece) => Some((Ok(message(piece)), Some(follower))),
                Err(status) => Some((Err(status), None)),
            }
        },
    )))
}

/// Streams all changes of a request's steps, including past ones.
pub(crate) fn steps(request: Arc<Request>) -> ResponseStream<FollowStepsResponse> {
    let follower = Follower::new(request, 0);
    Box::pin(unfold(follower, |mut follower| async move {
        let result = follower.event().await?;
        let answer = FollowStepsResponse {
            result: Some(result),
        };
        Some((Ok(answer), follower))
    }))
}
