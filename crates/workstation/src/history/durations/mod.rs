//! How long the jobs of earlier runs took.

#[expect(clippy::module_inception, reason = "the noun of this directory")]
mod durations;
mod expectations;
mod past_times;
mod stopwatch;
mod times_line;

pub use durations::Durations;
pub use expectations::Expectations;
pub use past_times::{JobTime, PastTimes};
pub use times_line::{JobPlace, RunTimes};

pub(crate) use stopwatch::Stopwatch;
