use executor_core::trace::JobTraceExt;
use executor_core::{JobTrace, TraceStream};
use parking_lot::Mutex;
use std::sync::Arc;

/// The most that is kept of what has to wait for its turn.
const MOST_HELD: usize = 1 << 20;

/// A job's log for work whose turn in it has not come: it keeps what is said until then, and passes it on
/// from then on.
///
/// Secrets are masked where all of the job's are, in the log itself.
#[derive(Debug)]
pub(crate) struct HeldLog {
    log: Arc<dyn JobTrace>,
    /// `None` since it is the work's turn.
    held: Mutex<Option<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    pieces: Vec<(TraceStream, Vec<u8>)>,
    bytes: usize,
    left_out: usize,
}

impl HeldLog {
    /// Returns one that keeps what is said.
    pub(crate) fn new(log: Arc<dyn JobTrace>) -> Self {
        Self {
            log,
            held: Mutex::new(Some(Held::default())),
        }
    }

    /// Shows what was said so far; all that follows is shown at once.
    pub(crate) fn show(&self) {
        // Until all is shown, nobody overtakes it.
        let mut held = self.held.lock();
        let Some(held) = held.take() else { return };
        for (stream, data) in &held.pieces {
            self.log.write(*stream, data);
        }
        if held.left_out > 0 {
            let bytes = held.left_out;
            let text = format!("{bytes} bytes of output before the stage's turn are left out");
            self.log.warning_line(&text);
        }
    }
}

impl JobTrace for HeldLog {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        let mut held = self.held.lock();
        if let Some(held) = &mut *held {
            held.keep(stream, data);
        } else {
            drop(held);
            self.log.write(stream, data);
        }
    }

    fn idle(&self, stream: TraceStream) {
        let held = self.held.lock();
        let is_shown = held.is_none();
        drop(held);
        if is_shown {
            self.log.idle(stream);
        }
    }

    fn add_mask(&self, secret: &str) {
        self.log.add_mask(secret);
    }
}

impl Held {
    fn keep(&mut self, stream: TraceStream, data: &[u8]) {
        let (kept, rest) = data.split_at(data.len().min(MOST_HELD - self.bytes));
        self.left_out = self.left_out.saturating_add(rest.len());
        self.bytes += kept.len();
        if !kept.is_empty() {
            self.pieces.push((stream, kept.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_testkit::RecordingTrace;

    #[test]
    fn what_was_held_is_shown_in_order_and_then_all_at_once() {
        let shown = RecordingTrace::new();
        let log = HeldLog::new(Arc::new(shown.clone()));
        log.write(TraceStream::STDOUT, b"one ");
        log.write(TraceStream::STDERR, b"two ");
        assert_eq!(shown.all(), b"");
        log.show();
        log.write(TraceStream::STDOUT, b"three");
        log.show();
        assert_eq!(shown.all(), b"one two three");
    }

    #[test]
    fn no_more_is_held_than_there_is_room_for_and_that_is_said() {
        let shown = RecordingTrace::new();
        let log = HeldLog::new(Arc::new(shown.clone()));
        log.write(TraceStream::STDOUT, &vec![b'x'; MOST_HELD - 1]);
        log.write(TraceStream::STDOUT, b"yzz");
        log.show();
        let text = String::from_utf8(shown.all()).expect("text");
        assert!(text.contains("xy\x1b"), "{}", text.len());
        assert!(text.contains("2 bytes of output"), "{}", text.len());
    }
}
