//! Setting up a log.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

use super::{Lanes, LogFormat, Shared, TracePipeline};
use crate::clock::{Clock, SystemClock};
use crate::limit::{Limiter, OutputLimit};
use crate::output::{Keep, Output};
use crate::rules::MaskRules;
use crate::section::{SectionMarks, SectionTracker};
use crate::sink::{NullSink, TraceSink};
use crate::spool::{Spool, SpoolError};
use crate::spool_writer::SpoolWriter;
use executor_core::TraceStream;

/// Sets up a [`TracePipeline`].
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

    /// Says what to hide; by default GitLab's tokens and secret URL parameters.
    pub fn masks(mut self, masks: MaskRules) -> Self {
        self.masks = masks;
        self
    }

    /// Chooses how the kept log looks, [`LogFormat::Stamped`] by default.
    pub fn format(mut self, format: LogFormat) -> Self {
        self.format = format;
        self
    }

    /// Limits what the sink is shown, and the view of the kept log; 4 MiB by default.
    pub fn limit(mut self, limit: OutputLimit) -> Self {
        self.output.sink_limiter = Limiter::new(limit);
        self.output.view_limiter = Limiter::new(limit);
        self
    }

    /// Chooses what is kept past the limit, [`Keep::Everything`] by default.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.output.keep = keep;
        self
    }

    /// Chooses whether section markers are written; they are by default.
    pub fn section_marks(mut self, marks: SectionMarks) -> Self {
        self.marks = marks;
        self
    }

    /// Takes the time from `clock` instead of this machine's.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Keeps the log in `spool`. Without one it is kept nowhere, only counted.
    pub fn spool(mut self, spool: Spool) -> Self {
        self.output.spool = Some(SpoolWriter::new(spool));
        self
    }

    /// Says which streams begin in the middle of a line, in a log that is gone on with.
    pub fn open_lines(mut self, open: Vec<TraceStream>) -> Self {
        self.open = open;
        self
    }

    /// Goes on without a spool because it could not be made; the sink learns of it.
    pub fn without_spool(mut self, error: SpoolError) -> Self {
        self.output.spool_error = Some(Arc::new(error));
        self
    }

    /// Shows the log to `sink` while the job runs.
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
