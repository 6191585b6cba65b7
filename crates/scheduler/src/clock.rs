use super::controls::Controls;
use parking_lot::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;

/// Keeps a pipeline's own time from running out until it is dropped; see [`Controls::stop_clock`].
#[derive(Debug)]
#[must_use = "the clock stands still only as long as this lives"]
pub struct StoppedClock {
    controls: Controls,
}

impl StoppedClock {
    pub(super) fn new(controls: &Controls) -> Self {
        controls.clock.stop(Instant::now());
        let stopped = Self {
            controls: controls.clone(),
        };
        stopped.wake();
        stopped
    }

    fn wake(&self) {
        if let Ok(queue) = self.controls.queue() {
            queue.wake();
        }
    }
}

impl Drop for StoppedClock {
    fn drop(&mut self) {
        self.controls.clock.go_on(Instant::now());
        self.wake();
    }
}

/// The time of a pipeline that does not count.
#[derive(Debug, Default)]
pub(super) struct Clock(Mutex<Stood>);

#[derive(Debug, Default)]
struct Stood {
    /// How many keep it from going on.
    stops: usize,
    /// Since when it stands still, while it does.
    since: Option<Instant>,
    /// How long it has stood still before.
    sum: Duration,
}

impl Clock {
    fn stop(&self, now: Instant) {
        let mut stood = self.lock();
        stood.stops += 1;
        stood.since.get_or_insert(now);
    }

    fn go_on(&self, now: Instant) {
        let mut stood = self.lock();
        stood.stops = stood.stops.saturating_sub(1);
        if stood.stops == 0
            && let Some(since) = stood.since.take()
        {
            stood.sum += now.duration_since(since);
        }
    }

    /// Returns when a time is over that would have been at `deadline`; `None` while the clock stands
    /// still, or when no clock will reach it.
    pub(super) fn put_off(&self, deadline: Instant) -> Option<Instant> {
        let stood = self.lock();
        match stood.since {
            Some(_) => None,
            None => deadline.checked_add(stood.sum),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stood> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_while_nobody_stops_the_clock() {
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let clock = Clock::default();
        assert_eq!(clock.put_off(at(10)), Some(at(10)));
        clock.stop(at(1));
        clock.stop(at(2));
        assert_eq!(clock.put_off(at(10)), None);
        clock.go_on(at(4));
        assert_eq!(clock.put_off(at(10)), None);
        clock.go_on(at(6));
        assert_eq!(clock.put_off(at(10)), Some(at(15)));
        clock.stop(at(7));
        clock.go_on(at(8));
        assert_eq!(clock.put_off(at(10)), Some(at(16)));
    }
}
