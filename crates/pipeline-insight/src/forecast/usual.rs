use std::time::Duration;

/// From how many runs on something is said about a job.
pub const LEAST_RUNS: usize = 3;

/// What is no news, however small a job is.
const NOTICEABLE: Duration = Duration::from_secs(1);

/// How long a job usually takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usual {
    /// The median: half of its runs were shorter.
    pub median: Duration,
    /// The longest that is still no surprise, by how far the runs lie apart.
    pub longest: Duration,
    /// How many runs it is known from.
    pub runs: usize,
}

impl Usual {
    /// Returns what is usual after runs that took so long; nothing when there were fewer than
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
            // Tukey's fence. A single run that took for ever does not move it.
            longest: upper.saturating_add(spread).saturating_add(spread / 2),
            runs: times.len(),
        })
    }

    /// Returns whether a run that took so long was slower than usual: by half of the median, by a
    /// second, and beyond what the earlier runs make likely.
    pub fn is_exceeded_by(&self, took: Duration) -> bool {
        let beyond = took.saturating_sub(self.median);
        beyond >= NOTICEABLE && beyond > self.median / 2 && took > self.longest
    }
}

/// Returns the first, second or third quartile of sorted times; between two of them, what lies
/// between.
fn quantile(sorted: &[Duration], quarter: usize) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let (place, rest) = (last * quarter / 4, last * quarter % 4);
    let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
    let below = at(place);
    let step = at((place + 1).min(last)).saturating_sub(below);
    // Of four parts at most three.
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
    fn the_median_is_usual_and_one_odd_run_changes_little() {
        let check = |seconds: &[u64], median: f64| {
            let found = usual(seconds).map(|usual| usual.median.as_secs_f64());
            assert_eq!(found, Some(median), "{seconds:?}");
        };
        check(&[3, 1, 2], 2.0);
        check(&[4, 1, 2, 3], 2.5);
        check(&[20, 21, 19, 300], 20.5);
        check(&[0, 0, 0], 0.0);
        assert_eq!(usual(&[5, 5]), None, "too few to say anything");
        assert_eq!(usual(&[]), None);
        assert_eq!(
            Usual::of(&[Duration::MAX; 4]).map(|usual| usual.longest),
            Some(Duration::MAX)
        );
    }

    #[test]
    fn slower_is_what_nobody_would_expect() {
        let check = |seconds: &[u64], took: f64, expect| {
            let usual = usual(seconds).unwrap();
            let took = Duration::from_secs_f64(took);
            assert_eq!(usual.is_exceeded_by(took), expect, "{took:?} {usual:?}");
        };
        let steady = [22, 22, 23, 21, 22];
        check(&steady, 41.0, true);
        check(&steady, 30.0, false);
        check(&steady, 10.0, false);
        // Half more is nothing where runs lie far apart.
        check(&[10, 40, 20, 60, 30], 50.0, false);
        check(&[10, 40, 20, 60, 30], 100.0, true);
        // One that took for ever hides nothing.
        check(&[22, 22, 23, 21, 22, 900], 41.0, true);
        // Ten times as much, and nobody waits.
        check(&[0, 0, 0], 0.9, false);
        check(&[0, 0, 0], 1.1, true);
    }
}
