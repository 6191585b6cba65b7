use super::usual::{LEAST_RUNS, Usual};
use std::time::Duration;

/// A job takes longer than it did, or not as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trend {
    /// How long it took before.
    pub before: Duration,
    /// How long it takes now: the median since then.
    pub now: Duration,
    /// The place of the first run that was so, in what was looked at.
    pub since: usize,
}

impl Trend {
    /// Returns whether it takes longer.
    pub fn is_slower(&self) -> bool {
        self.now > self.before
    }
}

/// Returns since when a job takes longer than usual, or not as long, up to its last run; the times are
/// those of its runs, the oldest first.
///
/// That is the first run from which on all were slower than what was usual before, or from which on
/// what was usual before would have been slower than each.
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
    fn a_trend_has_a_run_where_it_began() {
        let check = |seconds: &[u64], expect: Option<(usize, u64, u64)>| {
            let times: Vec<Duration> = seconds.iter().copied().map(Duration::from_secs).collect();
            let found = trend(&times);
            let found = found.map(|it| (it.since, it.before.as_secs(), it.now.as_secs()));
            assert_eq!(found, expect, "{seconds:?}");
        };
        check(&[20, 21, 20, 40], Some((3, 20, 40)));
        check(&[20, 21, 20, 22, 40, 41, 43], Some((4, 20, 41)));
        // It was slow once and is as it was.
        check(&[20, 21, 20, 40, 20], None);
        check(&[20, 21, 20, 40, 20, 41], Some((5, 20, 41)));
        check(&[40, 41, 40, 20, 21, 20], Some((3, 40, 20)));
        // Once fast proves nothing.
        check(&[40, 41, 40, 20], None);
        check(&[20, 40], None);
        check(&[], None);
    }
}
