use executor_core::trace::JobTraceExt;
use executor_core::{JobTrace, TraceStream};
use parking_lot::Mutex;
use std::sync::Arc;

/// The largest number of bytes that are held back.
const MAX_HELD: usize = 1 << 20;

/// The log of work that runs before its stage: it holds output back until the stage starts, and then passes it on.
///
/// The job's log behind it masks secrets.
#[derive(Debug)]
pub(crate) struct HeldLog {
    log: Arc<dyn JobTrace>,
    /// `None` once the output is shown.
    held: Mutex<Option<Held>>,
}

#[derive(Debug, Default)]
struct Held {
    pieces: Vec<(TraceStream, Vec<u8>)>,
    bytes: usize,
    dropped: usize,
}

impl HeldLog {
    /// Returns a log that holds output back.
    pub(crate) fn new(log: Arc<dyn JobTrace>) -> Self {
        Self {
            log,
            held: Mutex::new(Some(Held::default())),
        }
    }

    /// Shows the held output; later output is shown at once.
    pub(crate) fn show(&self) {
        // The lock keeps later output behind the held output.
        let mut held = self.held.lock();
        let Some(held) = held.take() else { return };
        for (stream, data) in &held.pieces {
            self.log.write(*stream, data);
        }
        if held.dropped > 0 {
            let bytes = held.dropped;
            let text = format!("{bytes} bytes of output from before this stage were dropped");
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
        let (kept, rest) = data.split_at(data.len().min(MAX_HELD - self.bytes));
        self.dropped = self.dropped.saturating_add(rest.len());
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
    fn held_output_is_shown_in_order() {
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
    fn output_beyond_the_limit_is_dropped_with_a_warning() {
        let shown = RecordingTrace::new();
        let log = HeldLog::new(Arc::new(shown.clone()));
        log.write(TraceStream::STDOUT, &vec![b'x'; MAX_HELD - 1]);
        log.write(TraceStream::STDOUT, b"yzz");
        log.show();
        let text = String::from_utf8(shown.all()).expect("text");
        assert!(text.contains("xy\x1b"), "{}", text.len());
        assert!(text.contains("2 bytes of output"), "{}", text.len());
    }
}
