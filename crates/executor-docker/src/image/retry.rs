use std::time::Duration;

/// The retries of a pull after passing faults, and its time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PullRetry {
    /// The number of attempts. Default: 3.
    pub tries: u32,
    /// The shortest wait. Default: 2 s.
    pub shortest: Duration,
    /// The longest wait. Default: 10 s.
    pub longest: Duration,
    /// How long a pull may make no progress. Default: 5 min.
    pub stall: Duration,
    /// The interval of progress reports in the log. Default: 15 s.
    pub report: Duration,
}

impl Default for PullRetry {
    fn default() -> Self {
        Self {
            tries: 3,
            shortest: Duration::from_secs(2),
            longest: Duration::from_secs(10),
            stall: Duration::from_mins(5),
            report: Duration::from_secs(15),
        }
    }
}

impl PullRetry {
    /// Returns the wait after attempt `tried`, from 1; `chance` is from 0 to 1.
    ///
    /// The waits double from the shortest to the longest. A part of each is random, so that the jobs of many runners do not
    /// return to a registry in the same second.
    pub(crate) fn wait(&self, tried: u32, chance: f64) -> Duration {
        let doubled = self.shortest.saturating_mul(1 << tried.clamp(1, 16));
        let most = doubled.clamp(self.shortest, self.longest.max(self.shortest));
        self.shortest
            + most
                .saturating_sub(self.shortest)
                .mul_f64(chance.clamp(0.0, 1.0))
    }
}

/// Returns a random number from 0 to 1.
pub(crate) fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without random bytes, the waits are the shortest.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::NONBLOCK);
    f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_between_the_bounds_and_are_spread() {
        let retry = PullRetry::default();
        let seconds = |tried, chance| retry.wait(tried, chance).as_secs_f64();
        let found = [
            seconds(1, 0.0),
            seconds(1, 1.0),
            seconds(2, 0.5),
            seconds(9, 1.0),
        ];
        assert!(
            found
                .iter()
                .zip([2.0, 4.0, 5.0, 10.0])
                .all(|(found, expected)| { (found - expected).abs() < 0.001 }),
            "{found:?}"
        );
        assert!((0.0..=1.0).contains(&chance()));
    }
}
