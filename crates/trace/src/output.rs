//! Where the streams of a log meet: spool, limited view, sink.

use std::sync::Arc;

use crate::limit::{Limiter, OutputLimit};
use crate::sink::TraceSink;
use crate::spool::{Digest, Digester, SpoolError};
use crate::spool_writer::SpoolWriter;
use executor_core::TraceStream;

/// What the spool keeps of a log that passes its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// All of it.
    #[default]
    Everything,
    /// What the limit lets through, with the notice: what a GitLab is sent.
    View,
}

/// What became of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TraceSummary {
    /// Length of the kept log in bytes. It counts up to the spool's failure, if it
    /// failed, and the whole log if there was none.
    pub bytes: u64,
    /// CRC-32 (IEEE) of these bytes.
    pub crc32: u32,
    /// Length and checksum of the view that the limit leaves, with its notice.
    pub view: Digest,
    /// Whether the limit left something out.
    pub truncated: bool,
    /// Why the log was not kept to its end.
    pub spool_error: Option<Arc<SpoolError>>,
}

pub(crate) struct Output {
    pub(crate) keep: Keep,
    pub(crate) spool: Option<SpoolWriter>,
    pub(crate) spool_error: Option<Arc<SpoolError>>,
    pub(crate) sink: Box<dyn TraceSink>,
    pub(crate) sink_limiter: Limiter,
    pub(crate) view_limiter: Limiter,
    /// The log's digest where there is no spool to compute it.
    kept: Digester,
    view: Digester,
    /// Last byte shown in the view and to the sink.
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

    /// Takes the masked text of a stream, and the same as it stands in the log.
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

    /// Waits until all that was taken is in the file.
    pub(crate) fn settle(&mut self) {
        let settled = self.spool.as_mut().map(SpoolWriter::settle);
        self.note(settled.unwrap_or(Ok(())));
    }

    /// Closes the spool and sums up.
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

    /// Reports that the spool cannot go on; nothing is stored after that.
    fn note(&mut self, result: Result<(), SpoolError>) {
        if let Err(error) = result {
            self.sink.spool_failed(&error);
            self.spool_error = Some(Arc::new(error));
        }
    }
}

/// Puts a line on its own line, after text that ended in `last`.
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
