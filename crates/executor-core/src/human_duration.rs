//! Durations in messages.

use std::fmt;
use std::time::Duration;

/// Displays a duration for people: `1h 30m`, `5m 3s`, `2.5s`, `0.3s`.
///
/// All messages of the runner use this form. Zero units are omitted and hours are the largest unit.
/// The value is truncated: to seconds from a minute on, to tenths from a second on, otherwise to
/// milliseconds. Width and alignment (`{:>8}`) apply.
///
/// # Examples
///
/// ```
/// use executor_core::HumanDuration;
/// use std::time::Duration;
///
/// assert_eq!(HumanDuration(Duration::from_secs(5400)).to_string(), "1h 30m");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HumanDuration(pub Duration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.0 < Duration::from_mins(1) {
            decimal(self.0)
        } else {
            units(self.0.as_secs())
        };
        f.pad(&text)
    }
}

fn decimal(duration: Duration) -> String {
    let mut text = format!("{}.{:03}", duration.as_secs(), duration.subsec_millis());
    if duration >= Duration::from_secs(1) {
        text.truncate(text.len() - 2);
    }
    let length = text.trim_end_matches('0').trim_end_matches('.').len();
    text.truncate(length);
    text + "s"
}

fn units(seconds: u64) -> String {
    let parts = [
        (seconds / 3600, 'h'),
        (seconds / 60 % 60, 'm'),
        (seconds % 60, 's'),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, unit)| format!("{count}{unit}"))
        .collect();
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(milliseconds: u64, expect: &str) {
        let text = HumanDuration(Duration::from_millis(milliseconds)).to_string();
        assert_eq!(text, expect, "{milliseconds} ms");
    }

    #[test]
    fn truncates_small_units() {
        check(0, "0s");
        check(5, "0.005s");
        check(300, "0.3s");
        check(1000, "1s");
        check(2599, "2.5s");
        check(10_040, "10s");
        check(59_999, "59.9s");
        check(60_000, "1m");
        check(303_900, "5m 3s");
        check(3_600_000, "1h");
        check(3_605_000, "1h 5s");
        check(5_400_000, "1h 30m");
        check(360_000_000, "100h");
        assert_eq!(HumanDuration(Duration::from_nanos(1)).to_string(), "0s");
        let never = HumanDuration(Duration::MAX).to_string();
        assert_eq!(never, "5124095576030431h 15s");
    }

    #[test]
    fn obeys_width_and_alignment() {
        let text = format!("{:>5}|", HumanDuration(Duration::from_secs(5)));
        assert_eq!(text, "   5s|");
    }
}
