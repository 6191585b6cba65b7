//! Joins the streams of a log: spool, limited view, sink.

use std::sync::Arc;

use crate::limit::{Limiter, OutputLimit};
use crate::spool::{Digest, Digester, SpoolError};
use crate::spool_writer::SpoolWriter;
use executor_core::TraceStream;

/// The part of a log beyond its limit that the spool keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The whole log.
    #[default]
    Everything,
    /// The part within the limit, with the notice, as sent to a GitLab.
    View,
}

/// The result of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TraceSummary {
    /// The length of the kept log in bytes: up to a failure of the spool, or the whole log without a spool.
    pub bytes: u64,
    /// CRC-32 (IEEE) of these bytes.
    pub crc32: u32,
    /// Length and checksum of the part within the limit, with its notice.
    pub view: Digest,
    /// Whether the limit cut the log.
    pub truncated: bool,
    /// The error that ended the spool.
    pub spool_error: Option<Arc<SpoolError>>,
}

pub(crate) struct Output {
    pub(crate) keep: Keep,
    pub(crate) spool: Option<SpoolWriter>,
    pub(crate) spool_error: Option<Arc<SpoolError>>,
    pub(crate) sink: Box<dyn TraceSink>,
    pub(crate) sink_limiter: Limiter,
    pub(crate) view_limiter: Limiter,
    /// The log's digest, without a spool to compute it.
    kept: Digester,
    view: Digester,
    /// The last byte of the view and the sink.
    view_end: u8,
    sink_end: u8,
}

impl Output {
    pub(crate) fn new(sink: Box<dyn TraceSink>) -> Self {
        Self {
            keep: Keep::default(),
            spool: None,
            spool_error: None,
            sink,
            sink_limiter: Limiter::new(OutputLimit::DEFAULT),
            view_limiter: Limiter::new(OutputLimit::DEFAULT),
            kept: Digester::default(),
            view: Digester::default(),
            view_end: b'\n',
            sink_end: b'\n',
        }
    }

    /// Writes a stream's masked text, given as such and as it is in the log.
    pub(crate) fn take(
        &mut self,
        stream: TraceStream,
        text: &[u8],
        log: &[u8],
        stamp: impl Fn(&str) -> Vec<u8>,
    ) {
        self.show(stream, text);
        let admitted = self.view_limiter.admit(log);
        if let Some(last) = admitted.text.last() {
            self.view.update(admitted.text);
            self.view_end = *last;
        }
        let notice = if admitted.reached {
            let line = stamp(&self.view_limiter.notice());
            own_line(self.view_end, &line)
        } else {
            Vec::new()
        };
        self.view.update(&notice);
        match self.keep {
            Keep::Everything => self.store(log),
            Keep::View => {
                self.store(admitted.text);
                self.store(&notice);
            }
        }
    }

    /// Waits until all text is in the file.
    pub(crate) fn settle(&mut self) {
        let settled = self.spool.as_mut().map(SpoolWriter::settle);
        self.note(settled.unwrap_or(Ok(())));
    }

    /// Closes the spool and returns the summary.
    pub(crate) fn finish(&mut self) -> TraceSummary {
        let closed = self.spool.as_mut().map(SpoolWriter::close);
        self.note(closed.unwrap_or(Ok(())));
        let kept = match &self.spool {
            Some(spool) => spool.digest(),
            None => self.kept.digest(),
        };
        TraceSummary {
            bytes: kept.bytes,
            crc32: kept.crc32,
            view: self.view.digest(),
            truncated: self.view_limiter.is_reached(),
            spool_error: self.spool_error.clone(),
        }
    }

    fn show(&mut self, stream: TraceStream, text: &[u8]) {
        let admitted = self.sink_limiter.admit(text);
        if let Some(last) = admitted.text.last() {
            self.sink.write(stream, admitted.text);
            self.sink_end = *last;
        }
        if admitted.reached {
            let line = self.sink_limiter.notice();
            let notice = own_line(self.sink_end, line.as_bytes());
            self.sink.write(TraceStream::SYSTEM_WARNING, &notice);
        }
    }

    fn store(&mut self, bytes: &[u8]) {
        if bytes.is_empty() || self.spool_error.is_some() {
            return;
        }
        let Some(spool) = &mut self.spool else {
            self.kept.update(bytes);
            return;
        };
        let appended = spool.append(bytes);
        self.note(appended);
    }

    /// Reports that the spool failed; nothing is stored afterwards.
    fn note(&mut self, result: Result<(), SpoolError>) {
        if let Err(error) = result {
            self.sink.spool_failed(&error);
            self.spool_error = Some(Arc::new(error));
        }
    }
}

/// Puts a line on a line of its own, after text that ended in `last`.
fn own_line(last: u8, line: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(line.len() + 1);
    if last != b'\n' {
        text.push(b'\n');
    }
    text.extend_from_slice(line);
    text
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::spool::Spool;

    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<(Vec<u8>, usize)>>);

    impl TraceSink for Recorder {
        fn write(&mut self, _stream: TraceStream, text: &[u8]) {
            self.0.lock().0.extend_from_slice(text);
        }

        fn spool_failed(&mut self, _error: &SpoolError) {
            self.0.lock().1 += 1;
        }
    }

    #[test]
    fn full_disk_is_reported_once_and_the_log_continues() {
        let recorder = Recorder::default();
        let mut output = Output::new(Box::new(recorder.clone()));
        output.spool = Some(SpoolWriter::new(Spool::on_full_disk()));
        for _ in 0..3 {
            output.take(TraceStream::STDOUT, b"line\n", b"line\n", |notice| {
                notice.into()
            });
        }
        let (text, failures) = recorder.0.lock().clone();
        assert_eq!(text, b"line\nline\nline\n");
        assert_eq!(failures, 1);
        let summary = output.finish();
        let error = summary.spool_error.expect("the disk is full");
        assert!(matches!(*error, SpoolError::Full { .. }));
        assert_eq!(summary.bytes, 0);
        assert_eq!(summary.view.bytes, 15);
    }

    #[test]
    fn full_disk_is_reported_at_the_latest_when_the_log_ends() {
        let recorder = Recorder::default();
        let mut output = Output::new(Box::new(recorder.clone()));
        output.spool = Some(SpoolWriter::new(Spool::on_full_disk()));
        let flood = b"line\n".repeat(20_000);
        output.take(TraceStream::STDOUT, &flood, &flood, |notice| notice.into());
        let summary = output.finish();
        assert_eq!(recorder.0.lock().1, 1);
        assert!(summary.spool_error.is_some());
        assert_eq!(summary.bytes, 0);
    }
}

/// Receives a job's masked log while the job runs, for a terminal or an event stream.
///
/// The thread that writes the text calls it; calls never overlap. A sink must not call the
/// [`TracePipeline`](crate::TracePipeline), and while it blocks, the job's output blocks.
pub trait TraceSink: Send {
    /// Receives masked text without stamps, up to the output limit.
    ///
    /// Pieces of one stream are in order. A piece may start and end inside a line.
    fn write(&mut self, stream: TraceStream, text: &[u8]);

    /// Receives, once, the error of a failed spool. The job continues.
    fn spool_failed(&mut self, error: &SpoolError);
}

/// A sink that ignores the log.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl TraceSink for NullSink {
    fn write(&mut self, _stream: TraceStream, _text: &[u8]) {}

    fn spool_failed(&mut self, _error: &SpoolError) {}
}

/// The end of a kept log at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// The length of the log in bytes.
    pub bytes: u64,
    /// The streams whose last line is incomplete: its newline is not their own.
    pub open: Vec<TraceStream>,
}
