use super::usual::{LEAST_RUNS, Usual};
use std::time::Duration;

/// A lasting change in the duration of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trend {
    /// The usual duration before.
    pub before: Duration,
    /// The duration now: the median since the change.
    pub now: Duration,
    /// The index of the first run after the change.
    pub since: usize,
}

impl Trend {
    /// Returns whether the job became slower.
    pub fn is_slower(&self) -> bool {
        self.now > self.before
    }
}

/// Returns the last change in the duration of a job, given the durations of its runs, the oldest
/// first.
///
/// It starts with the first run from which all runs are slower than usual before, or than whose
/// usual duration all earlier runs are slower.
pub fn trend(times: &[Duration]) -> Option<Trend> {
    let changed = |since: &usize| -> Option<Trend> {
        let (earlier, later) = times.split_at_checked(*since)?;
        let before = Usual::of(earlier)?;
        let now = median(later)?;
        let slower = || later.iter().all(|&took| before.is_exceeded_by(took));
        let faster = || {
            let now = Usual::of(later);
            now.is_some_and(|now| earlier.iter().all(|&took| now.is_exceeded_by(took)))
        };
        (slower() || faster()).then_some(Trend {
            before: before.median,
            now,
            since: *since,
        })
    };
    (LEAST_RUNS..times.len()).find_map(|since| changed(&since))
}

fn median(times: &[Duration]) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_starts_with_the_first_changed_run() {
        let check = |seconds: &[u64], expect: Option<(usize, u64, u64)>| {
            let times: Vec<Duration> = seconds.iter().copied().map(Duration::from_secs).collect();
            let found = trend(&times);
            let found = found.map(|it| (it.since, it.before.as_secs(), it.now.as_secs()));
            assert_eq!(found, expect, "{seconds:?}");
        };
        check(&[20, 21, 20, 40], Some((3, 20, 40)));
        check(&[20, 21, 20, 22, 40, 41, 43], Some((4, 20, 41)));
        // It was slow only once.
        check(&[20, 21, 20, 40, 20], None);
        check(&[20, 21, 20, 40, 20, 41], Some((5, 20, 41)));
        check(&[40, 41, 40, 20, 21, 20], Some((3, 40, 20)));
        // One fast run is not a trend.
        check(&[40, 41, 40, 20], None);
        check(&[20, 40], None);
        check(&[], None);
    }
}
