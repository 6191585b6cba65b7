use executor_core::{JobTrace, StreamKind, TraceStream};
use std::sync::atomic::{AtomicU64, Ordering};

/// A job's log that counts bytes and stores none, for output of any length.
#[derive(Debug, Default)]
pub struct CountingTrace {
    stdout: AtomicU64,
    stderr: AtomicU64,
    longest: AtomicU64,
}

impl CountingTrace {
    /// Returns an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of bytes on this descriptor, from all sources.
    pub fn bytes(&self, kind: StreamKind) -> u64 {
        self.counter(kind).load(Ordering::Relaxed)
    }

    /// Returns the length of the longest single write in bytes.
    pub fn longest_write(&self) -> u64 {
        self.longest.load(Ordering::Relaxed)
    }

    fn counter(&self, kind: StreamKind) -> &AtomicU64 {
        match kind {
            StreamKind::Stdout => &self.stdout,
            StreamKind::Stderr => &self.stderr,
        }
    }
}

impl JobTrace for CountingTrace {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        let length = data.len() as u64;
        self.counter(stream.kind)
            .fetch_add(length, Ordering::Relaxed);
        self.longest.fetch_max(length, Ordering::Relaxed);
    }

    fn idle(&self, _stream: TraceStream) {}

    fn add_mask(&self, _secret: &str) {}
}
