//! The log of a job: masking, sections, timestamps, spool, limit, checksum.
//!
//! ```
//! use executor_core::TraceStream;
//! use trace::{LogFormat, MaskRules, Spool, TracePipeline};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("job.log");
//! let trace = TracePipeline::builder()
//!     .masks(MaskRules::new().secret("correct horse"))
//!     .format(LogFormat::Plain)
//!     .spool(Spool::create(&path)?)
//!     .start();
//! // The secret comes in two pieces and is still hidden.
//! trace.write(TraceStream::STDOUT, b"password: correct ");
//! trace.write(TraceStream::STDOUT, b"horse\n");
//! let summary = trace.finish();
//! assert_eq!(std::fs::read(&path)?, b"password: [MASKED]\n");
//! assert_eq!(summary.bytes, 19);
//! # Ok(())
//! # }
//! ```
//!
//! - [`TracePipeline`] is the whole way of a job's output; most users need only it, with
//!   [`MaskRules`] for what to hide and a [`TraceSink`] to see the log live.
//! - [`Masker`] hides secrets in one stream, however it is cut into pieces.
//! - [`Spool`] keeps the log in a file that is read while it is written.
//! - [`Unstamper`] reads a log of the timestamped format.
//! - [`LineSplitter`] and [`SectionScanner`] are for those who render a log.
//!
//! The crate is synchronous; only output that comes fast has a thread, one for its log,
//! which writes the spool. Whoever reads a job's pipes calls
//! [`TracePipeline::write`], and [`TracePipeline::flush_idle`] when nothing came for
//! about 100 ms.

mod automaton;
mod branches;
mod clock;
mod cover;
mod limit;
mod lines;
mod log_end;
mod masker;
mod output;
mod pipeline;
mod prefilter;
mod rules;
mod scanner;
mod section;
mod sink;
mod spool;
mod spool_writer;
mod stamp;
mod unstamp;
mod variants;

pub use clock::{Clock, SystemClock};
pub use limit::{Admitted, Limiter, OutputLimit};
pub use lines::{Line, LineSplitter, MAX_LINE};
pub use log_end::LogEnd;
pub use masker::Masker;
pub use output::{Keep, TraceSummary};
pub use pipeline::{LogFormat, SectionGuard, TraceBuilder, TracePipeline};
pub use rules::{DEFAULT_TOKEN_PREFIXES, MaskRules, MaskSet, SECRET_PARAMETERS, Variants};
pub use scanner::{SectionEvent, SectionScanner};
pub use section::{SectionId, SectionLook, SectionMarks, SectionName, SectionTracker};
pub use sink::{NullSink, TraceSink};
pub use spool::{Digest, Spool, SpoolError, SpoolReader};
pub use stamp::Stamper;
pub use unstamp::Unstamper;
