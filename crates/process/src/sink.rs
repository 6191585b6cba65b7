//! Where the output of a process goes.

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Takes the output of a process, in order within each stream.
///
/// Called from the task that waits for the process. While `write` runs nothing
/// is read, so a slow sink slows the process down instead of filling memory.
/// Every closure `FnMut(Stream, &[u8])` is a sink.
pub trait OutputSink: Send {
    /// Takes the next bytes of a stream: at most 64 KiB, never empty, cut anywhere.
    fn write(&mut self, stream: Stream, bytes: &[u8]);

    /// Called once each time both streams have been silent for
    /// [`Timing::idle_after`](crate::Timing::idle_after), so that a partial line can be shown.
    fn idle(&mut self);
}

impl<F: FnMut(Stream, &[u8]) + Send> OutputSink for F {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        self(stream, bytes);
    }

    fn idle(&mut self) {}
}
