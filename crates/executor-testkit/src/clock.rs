use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A wall clock that only a test advances. Clones show the same time.
///
/// It starts at 2024-01-01 00:00:00 UTC. Tasks (`sleep`, `timeout`) use tokio's time instead: pause
/// that with `tokio::time::pause`.
///
/// # Examples
///
/// ```
/// use executor_testkit::ManualClock;
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// let start = clock.now();
/// clock.clone().advance(Duration::from_millis(1500));
/// assert_eq!(clock.now(), start + Duration::from_millis(1500));
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<SystemTime>>);

impl ManualClock {
    /// The initial time, in seconds since the Unix epoch.
    pub const START: u64 = 1_704_067_200;

    /// Returns a clock that shows [`ManualClock::START`].
    pub fn new() -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(Self::START);
        Self(Arc::new(Mutex::new(start)))
    }

    /// Returns the current time.
    pub fn now(&self) -> SystemTime {
        *self.0.lock()
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        *self.0.lock() += by;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}
