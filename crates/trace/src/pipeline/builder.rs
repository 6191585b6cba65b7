//! The builder of a log.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

use super::{Lanes, LogFormat, Shared, TracePipeline};
use crate::limit::{Limiter, OutputLimit};
use crate::output::{Keep, Output};
use crate::output::{NullSink, TraceSink};
use crate::rules::MaskRules;
use crate::section::{SectionMarks, SectionTracker};
use crate::spool::{Spool, SpoolError};
use crate::spool_writer::SpoolWriter;
use crate::stamp::{Clock, SystemClock};
use executor_core::TraceStream;

/// Builds a [`TracePipeline`].
pub struct TraceBuilder {
    masks: MaskRules,
    format: LogFormat,
    marks: SectionMarks,
    output: Output,
    clock: Arc<dyn Clock>,
    open: Vec<TraceStream>,
}

impl TraceBuilder {
    pub(super) fn new() -> Self {
        Self {
            masks: MaskRules::new(),
            format: LogFormat::default(),
            marks: SectionMarks::default(),
            output: Output::new(Box::new(NullSink)),
            clock: Arc::new(SystemClock),
            open: Vec::new(),
        }
    }

    /// Sets the secrets to mask; the default masks tokens of GitLab and secret URL parameters.
    pub fn masks(mut self, masks: MaskRules) -> Self {
        self.masks = masks;
        self
    }

    /// Sets the format of the kept log; the default is [`LogFormat::Stamped`].
    pub fn format(mut self, format: LogFormat) -> Self {
        self.format = format;
        self
    }

    /// Limits the output of the sink and the view of the kept log; the default is 4 MiB.
    pub fn limit(mut self, limit: OutputLimit) -> Self {
        self.output.sink_limiter = Limiter::new(limit);
        self.output.view_limiter = Limiter::new(limit);
        self
    }

    /// Sets what is kept beyond the limit; the default is [`Keep::Everything`].
    pub fn keep(mut self, keep: Keep) -> Self {
        self.output.keep = keep;
        self
    }

    /// Sets whether section markers are written; by default they are.
    pub fn section_marks(mut self, marks: SectionMarks) -> Self {
        self.marks = marks;
        self
    }

    /// Sets the clock; the default is this machine's.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Keeps the log in `spool`. Without one the log is only counted.
    pub fn spool(mut self, spool: Spool) -> Self {
        self.output.spool = Some(SpoolWriter::new(spool));
        self
    }

    /// Sets the streams that start in the middle of a line, when a log is continued.
    pub fn open_lines(mut self, open: Vec<TraceStream>) -> Self {
        self.open = open;
        self
    }

    /// Continues without a spool because it could not be created; the sink gets the error.
    pub fn without_spool(mut self, error: SpoolError) -> Self {
        self.output.spool_error = Some(Arc::new(error));
        self
    }

    /// Shows the log in `sink` while the job runs.
    pub fn sink(mut self, sink: impl TraceSink + 'static) -> Self {
        self.output.sink = Box::new(sink);
        self
    }

    /// Starts the log.
    pub fn start(mut self) -> TracePipeline {
        if let Some(error) = &self.output.spool_error {
            self.output.sink.spool_failed(error);
        }
        TracePipeline {
            shared: Arc::new(Shared {
                format: self.format,
                clock: self.clock,
                open: self.open,
                lanes: Mutex::new(Lanes {
                    masks: self.masks.compile(),
                    by_stream: Vec::new(),
                    summary: None,
                }),
                sections: Mutex::new(SectionTracker::new(self.marks)),
                output: Mutex::new(self.output),
            }),
        }
    }
}

impl fmt::Debug for TraceBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TraceBuilder")
            .field("masks", &self.masks)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}
