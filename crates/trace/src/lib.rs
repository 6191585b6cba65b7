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
//! // The secret arrives in two pieces and is still masked.
//! trace.write(TraceStream::STDOUT, b"password: correct ");
//! trace.write(TraceStream::STDOUT, b"horse\n");
//! let summary = trace.finish();
//! assert_eq!(std::fs::read(&path)?, b"password: [MASKED]\n");
//! assert_eq!(summary.bytes, 19);
//! # Ok(())
//! # }
//! ```
//!
//! - [`TracePipeline`] is the complete path of a job's output; most users need only it, with [`MaskRules`] for
//!   the secrets and a [`TraceSink`] for the live log.
//! - [`Masker`] masks secrets in one stream, however it is split into pieces.
//! - [`Spool`] keeps the log in a file that can be read while it is written.
//! - [`Unstamper`] reads a log of the timestamped format.
//! - [`LineSplitter`] and [`SectionScanner`] are for programs that render a log.
//!
//! The crate is synchronous; only a log with fast output has a thread, which writes the spool. The reader of a
//! job's pipes calls [`TracePipeline::write`], and [`TracePipeline::flush_idle`] after about 100 ms of silence.

mod automaton;
mod branches;
mod controls;
mod cover;
mod limit;
mod lines;
mod masker;
mod output;
mod pipeline;
mod prefilter;
mod quoting;
mod rules;
mod scanner;
mod section;
mod spool;
mod spool_writer;
mod stamp;
mod unstamp;
mod variants;

pub use controls::Controls;
pub use limit::{Admitted, Limiter, OutputLimit};
pub use lines::{Line, LineSplitter, MAX_LINE};
pub use masker::Masker;
pub use output::{Keep, LogEnd, NullSink, TraceSink, TraceSummary};
pub use pipeline::{LogFormat, SectionGuard, TraceBuilder, TracePipeline};
pub use rules::{DEFAULT_TOKEN_PREFIXES, MaskRules, MaskSet, SECRET_PARAMETERS, Variants};
pub use scanner::{SectionEvent, SectionScanner};
pub use section::{SectionId, SectionLook, SectionMarks, SectionName, SectionTracker};
pub use spool::{Digest, Spool, SpoolError, SpoolReader};
pub use stamp::{Clock, Stamper, SystemClock};
pub use unstamp::Unstamper;
