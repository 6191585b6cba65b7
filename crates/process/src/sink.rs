//! Where the output of a process goes.

use executor_core::{JobTrace, TraceStream};

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
/// Every closure `FnMut(Stream, &[u8])` is a sink; [`TraceOutput`] leads to a job's log.
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

/// Passes both streams on to a job's log, each as what it is.
#[derive(Debug, Clone, Copy)]
pub struct TraceOutput<'a>(pub &'a dyn JobTrace);

impl OutputSink for TraceOutput<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        let stream = match stream {
            Stream::Stdout => TraceStream::STDOUT,
            Stream::Stderr => TraceStream::STDERR,
        };
        self.0.write(stream, bytes);
    }

    fn idle(&mut self) {
        self.0.idle(TraceStream::STDOUT);
        self.0.idle(TraceStream::STDERR);
    }
}
