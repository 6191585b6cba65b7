use std::time::Duration;

/// The minimum number of runs for a usual duration.
pub const LEAST_RUNS: usize = 3;

/// The minimum difference that counts as slower.
const NOTICEABLE: Duration = Duration::from_secs(1);

/// The usual duration of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usual {
    /// The median: half of its runs were shorter.
    pub median: Duration,
    /// The longest duration that is still usual, given how much the runs differ.
    pub longest: Duration,
    /// The number of runs.
    pub runs: usize,
}

impl Usual {
    /// Returns the usual duration given those of earlier runs; `None` if there are fewer than
    /// [`LEAST_RUNS`].
    pub fn of(times: &[Duration]) -> Option<Self> {
        if times.len() < LEAST_RUNS {
            return None;
        }
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let [lower, median, upper] = [1, 2, 3].map(|quarter| quantile(&sorted, quarter));
        let spread = upper.saturating_sub(lower);
        Some(Self {
            median,
            // Tukey's fence. A single very long run does not move it.
            longest: upper.saturating_add(spread).saturating_add(spread / 2),
            runs: times.len(),
        })
    }

    /// Returns whether a duration is slower than usual: by half of the median, by a second, and
    /// longer than `longest`.
    pub fn is_exceeded_by(&self, took: Duration) -> bool {
        let excess = took.saturating_sub(self.median);
        excess >= NOTICEABLE && excess > self.median / 2 && took > self.longest
    }
}

/// Returns the first, second or third quartile of sorted durations, interpolated between two of
/// them.
fn quantile(sorted: &[Duration], quarter: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let (index, rest) = (last * quarter / 4, last * quarter % 4);
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    let below = at(index);
    let step = at((index + 1).min(last)).saturating_sub(below);
    // `rest` is at most three quarters.
    below.saturating_add(step / 4 * u32::try_from(rest).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual(seconds: &[u64]) -> Option<Usual> {
        let times: Vec<Duration> = seconds.iter().copied().map(Duration::from_secs).collect();
        Usual::of(&times)
    }

    #[test]
    fn the_usual_duration_is_the_median() {
        let check = |seconds: &[u64], median: f64| {
            let found = usual(seconds).map(|usual| usual.median.as_secs_f64());
            assert_eq!(found, Some(median), "{seconds:?}");
        };
        check(&[3, 1, 2], 2.0);
        check(&[4, 1, 2, 3], 2.5);
        check(&[20, 21, 19, 300], 20.5);
        check(&[0, 0, 0], 0.0);
        assert_eq!(usual(&[5, 5]), None, "too few runs");
        assert_eq!(usual(&[]), None);
        assert_eq!(
            Usual::of(&[Duration::MAX; 4]).map(|usual| usual.longest),
            Some(Duration::MAX)
        );
    }

    #[test]
    fn slower_durations_exceed_the_usual_range() {
        let check = |seconds: &[u64], took: f64, expect| {
            let usual = usual(seconds).unwrap();
            let took = Duration::from_secs_f64(took);
            assert_eq!(usual.is_exceeded_by(took), expect, "{took:?} {usual:?}");
        };
        let steady = [22, 22, 23, 21, 22];
        check(&steady, 41.0, true);
        check(&steady, 30.0, false);
        check(&steady, 10.0, false);
        // Half more is usual if runs differ widely.
        check(&[10, 40, 20, 60, 30], 50.0, false);
        check(&[10, 40, 20, 60, 30], 100.0, true);
        // One very long run does not matter.
        check(&[22, 22, 23, 21, 22, 900], 41.0, true);
        // Differences below a second do not matter.
        check(&[0, 0, 0], 0.9, false);
        check(&[0, 0, 0], 1.1, true);
    }
}
