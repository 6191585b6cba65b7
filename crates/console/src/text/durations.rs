//! Durations and moments as people read them.

use jiff::Timestamp;
use std::time::Duration;

/// Returns a time to a tenth of a second: `0.3 s`, `2 min 5 s`.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        whole @ 0..=59 => format!("{whole}.{} s", time.subsec_millis() / 100),
        _ => whole_seconds(time),
    }
}

/// Returns a time to a second: `12 s`, `2 min 5 s`.
pub(crate) fn whole_seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0..=59 => format!("{whole} s"),
        60..=3599 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
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

/// Returns how long ago a moment was: `12 s ago`, `3 min ago`, `2 days ago`.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let passed = now.duration_since(then).as_secs().max(0);
    match passed {
        0..=59 => format!("{passed} s ago"),
        60..=3599 => format!("{} min ago", passed / 60),
        3600..=86_399 => format!("{} h ago", passed / 3600),
        86_400..=172_799 => "1 day ago".to_owned(),
        _ => format!("{} days ago", passed / 86_400),
    }
}

/// Returns how far away a moment is: `in 12 s`, `in 3 min`; `now` if it has passed.
pub(crate) fn until(now: Timestamp, then: Timestamp) -> String {
    let left = then.duration_since(now).as_secs();
    match left {
        ..=0 => "now".to_owned(),
        1..=59 => format!("in {left} s"),
        60..=3599 => format!("in {} min", left / 60),
        3600..=86_399 => format!("in {} h", left / 3600),
        86_400..=172_799 => "in 1 day".to_owned(),
        _ => format!("in {} days", left / 86_400),
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
        check(0, "0.0 s", "0:00");
        check(1_250, "1.2 s", "0:01");
        check(125_000, "2 min 5 s", "2:05");
        check(7_265_000, "2 h 1 min", "2:01:05");
        assert_eq!(whole_seconds(Duration::from_millis(4_900)), "4 s");
    }

    #[test]
    fn moments_are_relative_to_now() {
        let check = |seconds: i64, past: &str, future: &str| {
            let now = Timestamp::UNIX_EPOCH;
            let then = Timestamp::from_second(seconds).expect("a time");
            assert_eq!((&*age(then, now), &*until(now, then)), (past, future));
        };
        check(-5, "0 s ago", "now");
        check(0, "0 s ago", "now");
        check(59, "59 s ago", "in 59 s");
        check(60, "1 min ago", "in 1 min");
        check(7_200, "2 h ago", "in 2 h");
        check(90_000, "1 day ago", "in 1 day");
        check(200_000, "2 days ago", "in 2 days");
    }
}
