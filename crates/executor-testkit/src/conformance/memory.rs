//! Measures the memory of this process while output passes through.

use crate::recording::CountingTrace;
use executor_core::{JobTrace, StreamKind, TraceStream};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes between two measurements.
const STEP: u64 = 1024 * 1024;

/// Returns the resident memory of this process in bytes; `None` where it is unknown.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// A log that stores no output and records the peak memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryTrace {
    bytes: CountingTrace,
    next_look: AtomicU64,
    peak: AtomicU64,
}

impl MemoryTrace {
    pub(crate) fn bytes(&self, kind: StreamKind) -> u64 {
        self.bytes.bytes(kind)
    }

    pub(crate) fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    fn look(&self) {
        if let Some(bytes) = resident_bytes() {
            self.peak.fetch_max(bytes, Ordering::Relaxed);
        }
    }
}

impl JobTrace for MemoryTrace {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        self.bytes.write(stream, data);
        let total = self.bytes(stream.kind);
        if total >= self.next_look.load(Ordering::Relaxed) {
            self.next_look.store(total + STEP, Ordering::Relaxed);
            self.look();
        }
    }

    fn idle(&self, _stream: TraceStream) {}

    fn add_mask(&self, _secret: &str) {}
}
