//! Durations, moments, counts and sizes as people read them.

use executor_core::{HumanAge, HumanDuration, counted};
use jiff::Timestamp;
use scheduler::Status;
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

/// Returns how many jobs came to which end, by whether their failure is allowed: `3 success, 1 failed,
/// 1 allowed failure`.
pub(crate) fn counted_ends(jobs: impl Iterator<Item = (Status, bool)>) -> String {
    let mut counts: Vec<((Status, bool), usize)> = Vec::new();
    for (status, may_fail) in jobs {
        let end = (status, may_fail && status == Status::Failed);
        match counts.iter_mut().find(|(counted, _)| *counted == end) {
            Some((_, count)) => *count += 1,
            None => counts.push((end, 1)),
        }
    }
    let words = counts
        .iter()
        .map(|((status, is_allowed), count)| match is_allowed {
            false => format!("{count} {status}"),
            true => counted(*count, "allowed failure"),
        });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns what follows such counts where some jobs did not run: `, 2 of them reused`.
pub(crate) fn of_them_reused(count: usize) -> String {
    match count {
        0 => String::new(),
        count => format!(", {count} of them reused"),
    }
}

/// Returns a size in the unit that suits it: `812 B`, `1.2 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes / 100;
    for unit in UNITS {
        if tenths < 10_000 {
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
        tenths /= 1000;
    }
    format!("{}.{} PB", tenths / 10, tenths % 10)
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

    #[test]
    fn ends_are_counted_in_the_order_they_are_met() {
        let check = |jobs: &[(Status, bool)], expect: &str| {
            assert_eq!(counted_ends(jobs.iter().copied()), expect);
        };
        check(&[], "");
        let (good, bad) = (Status::Success, Status::Failed);
        check(
            &[(good, true), (bad, true), (good, false)],
            "2 success, 1 allowed failure",
        );
        check(
            &[(bad, false), (bad, true), (bad, true)],
            "1 failed, 2 allowed failures",
        );
    }

    #[test]
    fn sizes_have_a_unit() {
        let check = |bytes: u64, expect: &str| assert_eq!(size(bytes), expect, "{bytes}");
        check(0, "0 B");
        check(999, "999 B");
        check(1000, "1.0 kB");
        check(123_456, "123.4 kB");
        check(1_234_567_890, "1.2 GB");
        check(u64::MAX, "18446.7 PB");
    }
}
