//! Durations and moments as people read them.

use executor_core::{HumanAge, HumanDuration};
use jiff::Timestamp;
use std::time::Duration;

/// Returns a time to a tenth of a second: `0.3s`, `2m 5s`.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1}", HumanDuration(time))
}

/// Returns a running time as a clock shows it: `0:12`, `2:05`.
pub(crate) fn clock(time: Duration) -> String {
    let whole = time.as_secs();
    let (minutes, seconds) = (whole / 60, whole % 60);
    match minutes {
        0..=59 => format!("{minutes}:{seconds:02}"),
        _ => format!("{}:{:02}:{seconds:02}", minutes / 60, minutes % 60),
    }
}

/// Returns how long ago a moment was: `12s ago`, `3m ago`, `2d ago`.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let passed = Duration::try_from(now.duration_since(then));
    format!("{} ago", HumanAge(passed.unwrap_or_default()))
}

/// Returns how far away a moment is: `in 12s`, `in 3m`; `now` if it has passed.
pub(crate) fn until(now: Timestamp, then: Timestamp) -> String {
    let left = Duration::try_from(then.duration_since(now)).unwrap_or_default();
    match left.as_secs() {
        0 => "now".to_owned(),
        _ => format!("in {}", HumanAge(left)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let check = |millis, exact: &str, passing: &str| {
            let time = Duration::from_millis(millis);
            assert_eq!((&*seconds(time), &*clock(time)), (exact, passing));
        };
        check(0, "0.0s", "0:00");
        check(1_250, "1.2s", "0:01");
        check(125_000, "2m 5s", "2:05");
        check(7_265_000, "2h 1m 5s", "2:01:05");
    }

    #[test]
    fn moments_are_relative_to_now() {
        let check = |seconds: i64, past: &str, future: &str| {
            let now = Timestamp::UNIX_EPOCH;
            let then = Timestamp::from_second(seconds).expect("a time");
            assert_eq!((&*age(then, now), &*until(now, then)), (past, future));
        };
        check(-5, "0s ago", "now");
        check(0, "0s ago", "now");
        check(59, "59s ago", "in 59s");
        check(60, "1m ago", "in 1m");
        check(7_200, "2h ago", "in 2h");
        check(90_000, "1d ago", "in 1d");
        check(200_000, "2d ago", "in 2d");
    }
}
