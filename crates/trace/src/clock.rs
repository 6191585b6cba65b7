//! Where the log's time comes from.

use std::time::SystemTime;

/// Tells the time of the day.
///
/// Any `Fn() -> SystemTime` is a clock, so a test writes
/// `|| SystemTime::UNIX_EPOCH`.
pub trait Clock: Send + Sync {
    /// Returns the present time. It may jump; the log's stamps never go back.
    fn now(&self) -> SystemTime;
}

impl<F: Fn() -> SystemTime + Send + Sync> Clock for F {
    fn now(&self) -> SystemTime {
        self()
    }
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
