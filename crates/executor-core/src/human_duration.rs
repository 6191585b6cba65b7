//! Durations and counts in messages.

use std::fmt;
use std::time::Duration;

/// Displays a duration for people: `1h 30m`, `5m 3s`, `2.5s`, `0.3s`.
///
/// All texts for people use this form, which GitLab shows for timeouts and Cargo for builds. Zero units are omitted and
/// hours are the largest unit. The value is truncated: to seconds from a minute on, to tenths from a second on,
/// otherwise to milliseconds. A precision fixes the number of decimals below a minute, at most three. Width and
/// alignment (`{:>8}`) apply.
///
/// # Examples
///
/// ```
/// use executor_core::HumanDuration;
/// use std::time::Duration;
///
/// assert_eq!(HumanDuration(Duration::from_secs(5400)).to_string(), "1h 30m");
/// assert_eq!(format!("{:.1}", HumanDuration(Duration::from_secs(5))), "5.0s");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HumanDuration(pub Duration);

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= Duration::from_mins(1) {
            return pad(f, &units(self.0.as_secs()));
        }
        pad(f, &decimal(self.0, f.precision()))
    }
}

/// Returns a number with its noun, which is one of many unless the number is one.
///
/// # Examples
///
/// ```
/// use executor_core::counted;
///
/// assert_eq!(counted(1, "file"), "1 file");
/// assert_eq!(counted(0, "file"), "0 files");
/// ```
pub fn counted(count: impl fmt::Display, noun: &str) -> String {
    match count.to_string().as_str() {
        "1" => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// Displays how long ago or how far away a moment is, in its greatest unit: `12s`, `3m`, `5h`, `2d`.
///
/// # Examples
///
/// ```
/// use executor_core::HumanAge;
/// use std::time::Duration;
///
/// let age = HumanAge(Duration::from_secs(7_300));
/// assert_eq!(format!("{age} ago"), "2h ago");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HumanAge(pub Duration);

impl fmt::Display for HumanAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let text = match seconds {
            0..60 => format!("{seconds}s"),
            60..3600 => format!("{}m", seconds / 60),
            3600..86_400 => format!("{}h", seconds / 3600),
            _ => format!("{}d", seconds / 86_400),
        };
        pad(f, &text)
    }
}

fn decimal(duration: Duration, precision: Option<usize>) -> String {
    let mut text = format!("{}.{:03}", duration.as_secs(), duration.subsec_millis());
    if let Some(decimals) = precision {
        text.truncate(text.len() - 3 + decimals.min(3));
        text.truncate(text.trim_end_matches('.').len());
        return text + "s";
    }
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

/// Writes a text with the formatter's width and alignment.
///
/// [`fmt::Formatter::pad`] would take the precision for a maximum width.
fn pad(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let width = f.width().unwrap_or(0);
    match f.align() {
        Some(fmt::Alignment::Right) => write!(f, "{text:>width$}"),
        Some(fmt::Alignment::Center) => write!(f, "{text:^width$}"),
        Some(fmt::Alignment::Left) | None => write!(f, "{text:<width$}"),
    }
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
    fn precision_fixes_the_decimals_below_a_minute() {
        let check = |milliseconds, expect: [&str; 3]| {
            let time = HumanDuration(Duration::from_millis(milliseconds));
            let texts = [
                format!("{time:.0}"),
                format!("{time:.1}"),
                format!("{time:.9}"),
            ];
            assert_eq!(texts, expect);
        };
        check(0, ["0s", "0.0s", "0.000s"]);
        check(1_259, ["1s", "1.2s", "1.259s"]);
        check(10_000, ["10s", "10.0s", "10.000s"]);
        check(125_900, ["2m 5s"; 3]);
    }

    #[test]
    fn obeys_width_and_alignment() {
        let time = HumanDuration(Duration::from_secs(5));
        assert_eq!(
            format!("{time:>5}|{time:<5}|{time:^6}|{time:>6.1}|"),
            "   5s|5s   |  5s  |  5.0s|"
        );
    }

    #[test]
    fn ages_have_one_unit() {
        let check = |seconds, expect: &str| {
            assert_eq!(HumanAge(Duration::from_secs(seconds)).to_string(), expect);
        };
        check(0, "0s");
        check(59, "59s");
        check(119, "1m");
        check(7_200, "2h");
        check(90_000, "1d");
        check(40 * 86_400, "40d");
    }
}
