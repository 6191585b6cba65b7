//! The live consumer of a log.

use crate::spool::SpoolError;
use executor_core::TraceStream;

/// Takes a job's masked log while the job runs: a terminal, an event stream.
///
/// Calls come one after the other, from the thread that wrote the text. A sink must not
/// call back into the [`TracePipeline`](crate::TracePipeline), and while it waits the
/// job's output waits.
pub trait TraceSink: Send {
    /// Takes masked text without stamps, up to the output limit.
    ///
    /// Pieces of one stream come in order. A piece is not a line and may end inside one.
    fn write(&mut self, stream: TraceStream, text: &[u8]);

    /// Learns, once, that the log is no longer kept. The job goes on.
    fn spool_failed(&mut self, error: &SpoolError);
}

/// Takes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl TraceSink for NullSink {
    fn write(&mut self, _stream: TraceStream, _text: &[u8]) {}

    fn spool_failed(&mut self, _error: &SpoolError) {}
}
