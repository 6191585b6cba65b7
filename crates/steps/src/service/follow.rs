//! Telling others about a request, from any point on, while it runs and afterwards.

use std::sync::Arc;
use std::time::Duration;

use executor_core::TraceStream;
use futures_util::stream::unfold;
use tokio::sync::watch;
use tokio::time::timeout;
use tonic::Status;
use trace::LogEnd;

use super::Answers;
use super::request::Request;
use super::step_mask::mask_result;
use crate::wire::v1::{FollowStepsResponse, StepResult};

/// The most bytes of a log in one message.
const PIECE: usize = 64 * 1024;

/// Output that comes fast is in the file a moment after the news of it; the last look is after twice this time.
const LAST_LOOK: Duration = Duration::from_millis(256);

/// The next bytes of a log.
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    /// Whether they reach to the end of the log as it was when they were read.
    pub(crate) settled: bool,
    /// The streams of the steps whose last line goes on, if it is known.
    pub(crate) open: u32,
}

/// Returns the streams of the steps whose last line goes on, as a message has them.
fn open_bits(end: &LogEnd) -> u32 {
    let bit = |stream: TraceStream, bit| if end.open.contains(&stream) { bit } else { 0 };
    bit(TraceStream::STDOUT, 1) | bit(TraceStream::STDERR, 2)
}

/// A follower of one request.
struct Follower {
    request: Arc<Request>,
    news: watch::Receiver<u64>,
    /// The next byte, or the next event.
    next: u64,
    /// How long to wait before looking again without news.
    look_after: Option<Duration>,
}

impl Follower {
    fn new(request: Arc<Request>, next: u64) -> Self {
        request.note_asked();
        let news = request.news();
        Self {
            request,
            news,
            next,
            look_after: None,
        }
    }

    /// Waits for news, or until it is worth looking again.
    async fn wait(&mut self) {
        let Some(pause) = self.look_after else {
            // The sender lives as long as the request does, which is held here.
            let _ = self.news.changed().await;
            self.look_after = Some(Duration::from_millis(1));
            return;
        };
        let changed = timeout(pause, self.news.changed()).await.is_ok();
        self.look_after = match pause {
            _ if changed => Some(Duration::from_millis(1)),
            pause if pause < LAST_LOOK => Some(pause * 2),
            _ => None,
        };
    }

    /// Returns the next piece of the log; `None` at its end.
    async fn piece(&mut self) -> Option<Result<Piece, Status>> {
        loop {
            // What is known to be the end before the look is still the end after it.
            let ended = self.request.has_ended();
            self.news.mark_unchanged();
            if self.request.log_reader.available() > self.next {
                return Some(self.read());
            }
            if ended {
                self.request.note_asked();
                return None;
            }
            self.wait().await;
        }
    }

    /// Reads what there is, up to what one message takes.
    fn read(&mut self) -> Result<Piece, Status> {
        // Who reads slowly reads still.
        self.request.note_asked();
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
            return Err(Status::internal("the log is shorter than it was"));
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

    /// Returns the next change of a step; `None` after the last.
    async fn event(&mut self) -> Option<StepResult> {
        let mut event = self.next_event().await?;
        let log = &self.request.log;
        mask_result(&mut event, &|text| log.masked(text));
        Some(event)
    }

    /// Returns the same as it was noted, with secrets in it.
    async fn next_event(&mut self) -> Option<StepResult> {
        loop {
            self.news.mark_unchanged();
            {
                let course = self.request.course();
                let number = usize::try_from(self.next).unwrap_or(usize::MAX);
                let request = &self.request;
                if let Some(event) = course.event(number, &request.command, &request.work_dir) {
                    self.next += 1;
                    return Some(event);
                }
                if course.ended.is_some() {
                    return None;
                }
            }
            // The sender lives as long as the request does, which is held here.
            let _ = self.news.changed().await;
        }
    }
}

/// Returns the bytes of a request's log from an offset on.
///
/// # Errors
///
/// When there can be no such offset. One beyond the end is none that cannot be: the log may grow.
pub(crate) fn logs<T: Send + 'static>(
    request: Arc<Request>,
    offset: i64,
    message: fn(Piece) -> T,
) -> Result<Answers<T>, Status> {
    let offset = u64::try_from(offset)
        .map_err(|_| Status::invalid_argument("the offset is less than zero"))?;
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

/// Returns all changes of a request's steps, also those that were.
pub(crate) fn steps(request: Arc<Request>) -> Answers<FollowStepsResponse> {
    let follower = Follower::new(request, 0);
    Box::pin(unfold(follower, |mut follower| async move {
        let result = follower.event().await?;
        let answer = FollowStepsResponse {
            result: Some(result),
        };
        Some((Ok(answer), follower))
    }))
}
