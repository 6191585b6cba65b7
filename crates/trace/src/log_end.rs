//! Where a log ends at one moment.

use executor_core::TraceStream;

/// The end of a kept log, as it is at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// How long the log is.
    pub bytes: u64,
    /// The streams whose last line goes on: its newline is not their own.
    pub open: Vec<TraceStream>,
}
