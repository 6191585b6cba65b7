//! The path of a job's output: mask, stamp, keep, show.

mod builder;

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

use crate::masker::Masker;
use crate::output::LogEnd;
use crate::output::{Output, TraceSummary};
use crate::rules::MaskSet;
use crate::section::{SectionId, SectionLook, SectionName, SectionTracker};
use crate::spool::SpoolError;
use crate::spool_writer::SpoolWriter;
use crate::stamp::Clock;
use crate::stamp::Stamper;
use executor_core::TraceStream;

pub use builder::TraceBuilder;

/// Larger writes are split, so that the buffers stay small.
const PIECE: usize = 64 * 1024;

/// The format of the kept log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFormat {
    /// Each line with its time and stream; see [`Stamper`].
    #[default]
    Stamped,
    /// Only the text.
    Plain,
}

/// The log of one job. Clones share it, and threads may write at the same time.
///
/// Each stream is masked first. The sink gets the masked text; the spool gets it in the chosen [`LogFormat`]. The
/// output limit applies to the sink, and to the spool only with [`Keep::View`](crate::Keep::View). The order within a
/// stream is preserved. Nothing here fails: the failure of a spool is reported once, and the job's output is still read.
///
/// Memory does not grow with the log. A thread of the log writes fast output into the spool; it is at most some
/// 100 KiB behind and ends with the log.
#[derive(Clone)]
pub struct TracePipeline {
    shared: Arc<Shared>,
}

struct Shared {
    format: LogFormat,
    clock: Arc<dyn Clock>,
    /// The streams that start in the middle of a line.
    open: Vec<TraceStream>,
    lanes: Mutex<Lanes>,
    sections: Mutex<SectionTracker>,
    output: Mutex<Output>,
}

struct Lanes {
    masks: MaskSet,
    by_stream: Vec<(TraceStream, Arc<Mutex<Lane>>)>,
    /// Set when the log is finished.
    summary: Option<TraceSummary>,
}

/// The state of one stream.
struct Lane {
    masker: Masker,
    buffer: Vec<u8>,
    onward: Onward,
}

/// The stages after the masker.
struct Onward {
    stream: TraceStream,
    stamper: Option<Stamper>,
    log: Vec<u8>,
    finished: bool,
    /// Whether the last line of the finished stream had no newline of its own.
    ended_open: bool,
}

impl TracePipeline {
    /// Returns a builder.
    pub fn builder() -> TraceBuilder {
        TraceBuilder::new()
    }

    /// Writes output of a stream. After [`finish`](Self::finish) it is dropped.
    pub fn write(&self, stream: TraceStream, bytes: &[u8]) {
        let Some(lane) = self.shared.lane(stream) else {
            return;
        };
        let mut lane = lane.lock();
        if lane.onward.finished {
            return;
        }
        for piece in bytes.chunks(PIECE) {
            let Lane {
                masker,
                buffer,
                onward,
            } = &mut *lane;
            let text = masker.pass(piece, buffer);
            self.shared.pass_on(onward, text);
            buffer.clear();
        }
    }

    /// Masks another secret in all streams from here on.
    pub fn add_mask(&self, secret: impl AsRef<[u8]>) {
        self.add_masks([secret]);
    }

    /// Masks more secrets in all streams from here on. Ten thousand cost little more than one.
    pub fn add_masks<S: AsRef<[u8]>>(&self, secrets: impl IntoIterator<Item = S>) {
        let mut lanes = self.shared.lanes.lock();
        lanes.masks = lanes.masks.with_secrets(secrets);
        for (_, lane) in &lanes.by_stream {
            lane.lock().masker.adopt(lanes.masks.clone());
        }
    }

    /// Returns `text` with all current secrets masked.
    ///
    /// Programs that show text of the job elsewhere mask it in the same way.
    pub fn masked(&self, text: &str) -> String {
        let mut masker = Masker::new(self.shared.lanes.lock().masks.clone());
        let mut out = Vec::with_capacity(text.len());
        masker.feed(text.as_bytes(), &mut out);
        masker.finish(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Writes unfinished lines into the kept log after a silence.
    ///
    /// Text that can still become a secret is held back. All other text is in the file when this returns. The sink
    /// already has the text.
    pub fn flush_idle(&self) {
        for lane in self.shared.all_lanes() {
            let onward = &mut lane.lock().onward;
            if let Some(stamper) = &mut onward.stamper {
                stamper.flush_idle(&mut onward.log);
            }
            self.shared.pass_on(onward, &[]);
        }
        self.shared.output.lock().settle();
    }

    /// Opens a section of the runner's stream, which ends when the guard is dropped.
    pub fn section(&self, name: &str, look: SectionLook, header: &str) -> SectionGuard {
        let now = self.shared.clock.now();
        let mut sections = self.shared.sections.lock();
        let (id, text) = sections.start(now, SectionName::new(name), look, header);
        self.write(TraceStream::SYSTEM, text.as_bytes());
        SectionGuard {
            trace: self.clone(),
            id,
        }
    }

    /// Opens the kept log for reading.
    ///
    /// Returns `None` without a spool. Text written just now may not be in the file yet; see
    /// [`SpoolReader::available`](crate::SpoolReader::available).
    ///
    /// # Errors
    ///
    /// [`SpoolError::Read`] if the file cannot be opened.
    pub fn reader(&self) -> Option<Result<crate::SpoolReader, SpoolError>> {
        let output = self.shared.output.lock();
        output.spool.as_ref().map(SpoolWriter::reader)
    }

    /// Returns the end of the kept log if another process can continue it there.
    ///
    /// Returns `None` while some text is pending, for the end of its line or because it may become a secret, and without a
    /// spool.
    pub fn settled(&self) -> Option<LogEnd> {
        // Locked in the same order as in `finish`.
        let lanes = self.shared.lanes.lock();
        let lanes: Vec<_> = lanes
            .by_stream
            .iter()
            .map(|(_, lane)| lane.lock())
            .collect();
        let waits = |lane: &Lane| {
            let stamper = lane.onward.stamper.as_ref();
            !lane.masker.is_fresh() || stamper.is_some_and(Stamper::waits)
        };
        if lanes.iter().any(|lane| waits(lane)) {
            return None;
        }
        let mut output = self.shared.output.lock();
        output.settle();
        let spool = output
            .spool
            .as_ref()
            .filter(|_| output.spool_error.is_none())?;
        let bytes = spool.digest().bytes;
        let is_open = |lane: &Lane| lane.onward.stamper.as_ref().is_some_and(Stamper::is_open);
        let open = lanes.iter().filter(|lane| is_open(lane));
        // Streams without output so far.
        let known: Vec<_> = lanes.iter().map(|lane| lane.onward.stream).collect();
        let still = self.shared.open.iter().filter(|it| !known.contains(it));
        Some(LogEnd {
            bytes,
            open: open
                .map(|lane| lane.onward.stream)
                .chain(still.copied())
                .collect(),
        })
    }

    /// Returns the length of the kept log and the streams whose last line is incomplete there, as one consistent state.
    ///
    /// All of it is in the file when this returns. Without a spool the length is zero.
    pub fn end(&self) -> LogEnd {
        // Locked in the same order as in `finish`.
        let lanes = self.shared.lanes.lock();
        let lanes: Vec<_> = lanes
            .by_stream
            .iter()
            .map(|(_, lane)| lane.lock())
            .collect();
        let mut output = self.shared.output.lock();
        output.settle();
        let is_open = |onward: &Onward| {
            let open = onward.stamper.as_ref().is_some_and(Stamper::is_open);
            open || onward.ended_open
        };
        let open = lanes.iter().filter(|lane| is_open(&lane.onward));
        LogEnd {
            bytes: output
                .spool
                .as_ref()
                .map_or(0, |spool| spool.digest().bytes),
            open: open.map(|lane| lane.onward.stream).collect(),
        }
    }

    /// Ends the log: closes open sections and writes held text. Further calls only return the summary.
    pub fn finish(&self) -> TraceSummary {
        let closing = self.shared.sections.lock().end_all(self.shared.clock.now());
        self.write(TraceStream::SYSTEM, closing.as_bytes());
        let mut lanes = self.shared.lanes.lock();
        if let Some(summary) = &lanes.summary {
            return summary.clone();
        }
        for (_, lane) in &lanes.by_stream {
            self.shared.finish_lane(&mut lane.lock());
        }
        let summary = self.shared.output.lock().finish();
        lanes.summary = Some(summary.clone());
        summary
    }
}

impl fmt::Debug for TracePipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TracePipeline")
            .field("format", &self.shared.format)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// Returns the lane of a stream, created if necessary; `None` after the end.
    fn lane(&self, stream: TraceStream) -> Option<Arc<Mutex<Lane>>> {
        let mut lanes = self.lanes.lock();
        if lanes.summary.is_some() {
            return None;
        }
        let found = lanes.by_stream.iter().find(|(known, _)| *known == stream);
        if let Some((_, lane)) = found {
            return Some(Arc::clone(lane));
        }
        let lane = Arc::new(Mutex::new(Lane {
            masker: Masker::new(lanes.masks.clone()),
            buffer: Vec::new(),
            onward: Onward {
                stream,
                stamper: (self.format == LogFormat::Stamped).then(|| self.stamper(stream)),
                log: Vec::new(),
                finished: false,
                ended_open: false,
            },
        }));
        lanes.by_stream.push((stream, Arc::clone(&lane)));
        Some(lane)
    }

    fn stamper(&self, stream: TraceStream) -> Stamper {
        if self.open.contains(&stream) {
            Stamper::going_on(stream)
        } else {
            Stamper::new(stream)
        }
    }

    fn all_lanes(&self) -> Vec<Arc<Mutex<Lane>>> {
        let lanes = self.lanes.lock();
        lanes
            .by_stream
            .iter()
            .map(|(_, lane)| Arc::clone(lane))
            .collect()
    }

    /// Stamps masked text, and passes both forms to the output.
    fn pass_on(&self, onward: &mut Onward, text: &[u8]) {
        let Onward {
            stream,
            stamper,
            log,
            ..
        } = onward;
        let log_or_text = match stamper {
            Some(stamper) if !text.is_empty() => {
                stamper.feed(self.clock.now(), text, log);
                &*log
            }
            Some(_) => &*log,
            None => text,
        };
        self.output
            .lock()
            .take(*stream, text, log_or_text, self.notice_stamp());
        log.clear();
    }

    fn finish_lane(&self, lane: &mut Lane) {
        let Lane {
            masker,
            buffer,
            onward,
        } = lane;
        masker.finish(buffer);
        self.pass_on(onward, buffer);
        if let Some(stamper) = &mut onward.stamper {
            stamper.flush_idle(&mut onward.log);
            onward.ended_open = stamper.is_open();
            stamper.finish(&mut onward.log);
        }
        self.pass_on(onward, &[]);
        onward.finished = true;
    }

    /// Returns the function that stamps the limit's notice.
    fn notice_stamp(&self) -> impl Fn(&str) -> Vec<u8> {
        move |line| match self.format {
            LogFormat::Plain => line.as_bytes().to_vec(),
            LogFormat::Stamped => {
                let mut notice = Vec::new();
                let mut stamper = Stamper::new(TraceStream::SYSTEM);
                stamper.feed(self.clock.now(), line.as_bytes(), &mut notice);
                notice
            }
        }
    }
}

/// An open section of a log.
///
/// Dropping it ends the section and all open sections inside it.
#[derive(Debug)]
#[must_use = "the section ends when the guard is dropped"]
pub struct SectionGuard {
    trace: TracePipeline,
    id: SectionId,
}

impl Drop for SectionGuard {
    fn drop(&mut self) {
        let now = self.trace.shared.clock.now();
        let mut sections = self.trace.shared.sections.lock();
        let text = sections.end(now, self.id);
        self.trace.write(TraceStream::SYSTEM, text.as_bytes());
    }
}
