//! A clock that excludes other programs on the machine.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the CPU time of this thread.
///
/// # Panics
///
/// Panics if the system reports a negative time.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.try_into()
        .expect("a time since the start is not negative")
}
