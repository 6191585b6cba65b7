use executor_core::{JobTrace, TraceStream};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// A job's log that stores all bytes unchanged. Clones share one log.
///
/// It masks nothing; [`masks`](Self::masks) lists the secrets it received.
///
/// # Examples
///
/// ```
/// use executor_core::{JobTrace, TraceStream};
/// use executor_testkit::RecordingTrace;
///
/// let trace = RecordingTrace::new();
/// trace.write(TraceStream::STDOUT, b"hel");
/// trace.write(TraceStream::STDERR, b"oops");
/// trace.write(TraceStream::STDOUT, b"lo");
/// assert_eq!(trace.text(TraceStream::STDOUT), "hello");
/// assert_eq!(trace.writes().len(), 3);
/// ```
#[derive(Debug, Clone, Default)]
pub struct RecordingTrace(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    log: Mutex<Log>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Log {
    writes: Vec<(TraceStream, Vec<u8>)>,
    idles: BTreeMap<TraceStream, usize>,
    masks: Vec<String>,
}

impl RecordingTrace {
    /// Returns an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the bytes of one stream.
    pub fn bytes(&self, stream: TraceStream) -> Vec<u8> {
        let log = self.0.log.lock();
        let of_stream = log.writes.iter().filter(|(written, _)| *written == stream);
        of_stream.flat_map(|(_, data)| data).copied().collect()
    }

    /// Returns one stream as text; invalid UTF-8 becomes U+FFFD.
    pub fn text(&self, stream: TraceStream) -> String {
        String::from_utf8_lossy(&self.bytes(stream)).into_owned()
    }

    /// Returns all streams together, in the order of writing.
    pub fn all(&self) -> Vec<u8> {
        let log = self.0.log.lock();
        log.writes
            .iter()
            .flat_map(|(_, data)| data)
            .copied()
            .collect()
    }

    /// Returns all writes.
    pub fn writes(&self) -> Vec<(TraceStream, Vec<u8>)> {
        self.0.log.lock().writes.clone()
    }

    /// Returns the number of `idle` calls for a stream.
    pub fn idles(&self, stream: TraceStream) -> usize {
        self.0.log.lock().idles.get(&stream).copied().unwrap_or(0)
    }

    /// Returns the secrets it received, in order.
    pub fn masks(&self) -> Vec<String> {
        self.0.log.lock().masks.clone()
    }

    /// Removes all writes so far.
    pub fn clear(&self) {
        self.0.log.lock().writes.clear();
    }

    /// Waits until a stream contains `text`.
    ///
    /// # Cancellation
    ///
    /// Safe to drop and to call again.
    pub async fn wait_for(&self, stream: TraceStream, text: &str) {
        loop {
            // Created before the check, so that no write is missed between check and wait.
            let changed = self.0.changed.notified();
            if self.text(stream).contains(text) {
                return;
            }
            changed.await;
        }
    }
}

impl JobTrace for RecordingTrace {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        self.0.log.lock().writes.push((stream, data.to_vec()));
        self.0.changed.notify_waiters();
    }

    fn idle(&self, stream: TraceStream) {
        *self.0.log.lock().idles.entry(stream).or_default() += 1;
    }

    fn add_mask(&self, secret: &str) {
        self.0.log.lock().masks.push(secret.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn wait_finds_text_over_two_writes() {
        let trace = RecordingTrace::new();
        trace.write(TraceStream::STDOUT, b"star");
        let writer = trace.clone();
        tokio::join!(trace.wait_for(TraceStream::STDOUT, "started"), async move {
            writer.write(TraceStream::STDOUT, b"ted");
        });
        assert_eq!(trace.all(), b"started");
    }
}
