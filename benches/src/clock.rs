//! Time that other programs on the machine take no part of.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns how long this thread has been on a processor.
///
/// # Panics
///
/// Panics if the system says that this is less than nothing.
pub fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.try_into()
        .expect("a time since the start is not negative")
}
