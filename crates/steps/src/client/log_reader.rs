use super::run_spec::Progress;
use crate::wire::v1::FollowLogsResponse;
use executor_core::{StreamKind, TraceStream};
use process::{OutputSink, Stream};
use std::fmt;
use trace::Unstamper;

/// Passes a log to the output, each byte once, wherever it was cut.
pub(crate) struct LogReader<'a> {
    output: &'a mut dyn OutputSink,
    progress: Option<&'a Progress>,
    unstamper: Unstamper,
    offset: u64,
    /// Whether the output knows that it is idle.
    idle: bool,
}

impl fmt::Debug for LogReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogReader")
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

impl<'a> LogReader<'a> {
    pub(crate) fn new(
        output: &'a mut dyn OutputSink,
        offset: u64,
        progress: Option<&'a Progress>,
    ) -> Self {
        Self {
            output,
            progress,
            unstamper: Unstamper::new(),
            offset,
            idle: true,
        }
    }

    /// Returns the offset of the next byte.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether the output knows that it is idle.
    pub(crate) fn is_idle(&self) -> bool {
        self.idle
    }

    /// Passes on the next bytes.
    pub(crate) fn take(&mut self, piece: &FollowLogsResponse) {
        let output = &mut *self.output;
        let mut emit = |stream, bytes: &[u8]| output.write(kind(stream), bytes);
        self.unstamper.feed(&piece.data, &mut emit);
        if piece.settled {
            let open = |bit, stream| (piece.open & bit != 0).then_some(stream);
            let open = [open(1, TraceStream::STDOUT), open(2, TraceStream::STDERR)];
            let open: Vec<_> = open.into_iter().flatten().collect();
            self.unstamper.settle(&open, &mut emit);
        }
        self.offset += piece.data.len() as u64;
        self.idle = false;
        if self.unstamper.is_settled()
            && let Some(progress) = self.progress
        {
            progress(self.offset);
        }
    }

    /// Tells the output that it is idle, so that a partial line can be shown.
    pub(crate) fn idle(&mut self) {
        let output = &mut *self.output;
        self.unstamper
            .flush(&mut |stream, bytes: &[u8]| output.write(kind(stream), bytes));
        self.output.idle();
        self.idle = true;
    }

    /// Passes on the rest at the end of the log.
    pub(crate) fn finish(&mut self) {
        let output = &mut *self.output;
        self.unstamper
            .finish(&mut |stream, bytes: &[u8]| output.write(kind(stream), bytes));
        if let Some(progress) = self.progress {
            progress(self.offset);
        }
    }
}

fn kind(stream: TraceStream) -> Stream {
    match stream.kind {
        StreamKind::Stdout => Stream::Stdout,
        StreamKind::Stderr => Stream::Stderr,
    }
}
