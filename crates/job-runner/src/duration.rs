//! Durations as Go writes them, which is how GitLab's runner variables are set.

use std::time::Duration;

/// Reads `1h30m`, `1.5h`, `90s`, `250ms`; `None` for anything else, also for a negative duration.
///
/// A bare `0` is zero; any other number needs a unit.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = split_at_end_of(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split_at_end_of(after, |c| !c.is_ascii_digit() && c != '.');
        let number: f64 = number.parse().ok()?;
        let part = Duration::try_from_secs_f64(number * seconds_in(unit)?).ok()?;
        total = total.checked_add(part)?;
        rest = after;
    }
    Some(total)
}

fn split_at_end_of(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

fn seconds_in(unit: &str) -> Option<f64> {
    Some(match unit {
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" | "μs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<Duration>) {
        assert_eq!(parse(text), expect, "reading {text:?}");
    }

    #[test]
    fn units_add_up() {
        check("1h30m", Some(Duration::from_mins(90)));
        check("1.5h", Some(Duration::from_mins(90)));
        check(" 90s ", Some(Duration::from_secs(90)));
        check("250ms", Some(Duration::from_millis(250)));
        check("2us3ns", Some(Duration::from_nanos(2003)));
        check("0", Some(Duration::ZERO));
        check("+1m", Some(Duration::from_mins(1)));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "10",
            "-5s",
            "1x",
            "s",
            "1h 30m",
            "1..2s",
            "9999999999999999999h",
            "1e3s",
        ] {
            check(text, None);
        }
    }
}
