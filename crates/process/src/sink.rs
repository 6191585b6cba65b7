//! The receiver of a process's output.

use executor_core::{JobTrace, TraceStream};

/// One of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Receives the output of a process, in order within each stream.
///
/// The task that waits for the process calls it. Nothing is read while `write` runs, so a slow sink slows the
/// process down instead of filling memory. Every closure `FnMut(Stream, &[u8])` is a sink; [`TraceOutput`]
/// writes to a job's log.
pub trait OutputSink: Send {
    /// Receives the next bytes of a stream: at most 64 KiB, never empty, split anywhere.
    fn write(&mut self, stream: Stream, bytes: &[u8]);

    /// Called when no process has the stream open any more.
    fn closed(&mut self, _stream: Stream) {}

    /// Called once whenever both streams have been silent for
    /// [`Timing::idle_after`](crate::Timing::idle_after), so that a partial line can be shown.
    fn idle(&mut self);
}

impl<F: FnMut(Stream, &[u8]) + Send> OutputSink for F {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        self(stream, bytes);
    }

    fn idle(&mut self) {}
}

/// Writes both streams to a job's log, as separate streams.
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
