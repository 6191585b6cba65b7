//! How long jobs took, noted for later runs.

#[expect(clippy::module_inception, reason = "the noun of this directory")]
mod durations;
mod expectations;
mod line;
mod past;
mod sink;

pub use durations::Durations;
pub use expectations::Expectations;
pub use line::{JobPlace, RunTimes};
pub use past::{JobTime, PastTimes};

pub(crate) use sink::Stopwatch;
