//! How a stage's output reaches the log.

use executor_core::{JobTrace, TraceStream};
use process::{OutputSink, Stream};

/// Passes both streams on to a job's log, each as what it is.
pub(crate) struct TraceSink<'a>(pub(crate) &'a dyn JobTrace);

impl OutputSink for TraceSink<'_> {
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
