use crate::sync::lock;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// A wall clock that stands still until it is moved. Clones show the same time.
///
/// It starts at 2024-01-01 00:00:00 UTC. Time of tasks (`sleep`, `timeout`) is tokio's: pause that
/// with `tokio::time::pause`.
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
    /// The seconds from the Unix epoch to the time a new clock shows.
    pub const START: u64 = 1_704_067_200;

    /// Returns a clock that shows [`ManualClock::START`].
    pub fn new() -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(Self::START);
        Self(Arc::new(Mutex::new(start)))
    }

    /// Returns the time it shows.
    pub fn now(&self) -> SystemTime {
        *lock(&self.0)
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        *lock(&self.0) += by;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}
