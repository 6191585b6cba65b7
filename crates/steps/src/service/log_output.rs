//! The way of a step's output into the log of its request.

use executor_core::TraceStream;
use process::{OutputSink, Stream};

use super::request::Request;

/// Masks, stamps and keeps what a step writes.
#[derive(Debug)]
pub(crate) struct LogOutput<'a>(pub(crate) &'a Request);

impl OutputSink for LogOutput<'_> {
    fn write(&mut self, stream: Stream, bytes: &[u8]) {
        let stream = match stream {
            Stream::Stdout => TraceStream::STDOUT,
            Stream::Stderr => TraceStream::STDERR,
        };
        self.0.log.write(stream, bytes);
        self.0.note_output();
        self.0.tell();
    }

    fn idle(&mut self) {
        self.0.log.flush_idle();
        self.0.tell();
    }
}

/// Writes a line of the service's own.
pub(crate) fn say(request: &Request, line: &str) {
    request.log.write(TraceStream::SYSTEM, line.as_bytes());
    request.log.write(TraceStream::SYSTEM, b"\n");
    request.tell();
}
