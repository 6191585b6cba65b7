use std::fmt::Debug;
use std::time::SystemTime;

/// What time it is.
pub trait Clock: Debug + Send + Sync {
    /// Returns the time.
    fn now(&self) -> SystemTime;
}

/// The time of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}
