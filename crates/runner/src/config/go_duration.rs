//! Durations as Go writes them.

use std::time::Duration;

const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

/// Parses a duration such as `1h30m`, `1.5h` or `300ms`, and also GitLab's forms, such as `1 day`.
///
/// Returns `None` for a negative one and for any other text.
pub(super) fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    go(text).or_else(|| executor_core::parse_duration(text))
}

fn go(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|it: char| it.is_ascii_digit() || it == '.');
        let unit = unit.unwrap_or(rest.len());
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == &rest[..unit])?;
        seconds += number * factor;
        rest = &rest[unit..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_and_of_gitlab() {
        let check = |text: &str, expect: Option<u64>| {
            let millis = parse(text).map(|it| u64::try_from(it.as_millis()).unwrap());
            assert_eq!(millis, expect, "{text:?}");
        };
        check("1h30m", Some(5_400_000));
        check("1.5h", Some(5_400_000));
        check("300ms", Some(300));
        check("15m0s", Some(900_000));
        check("0", Some(0));
        check("0s", Some(0));
        check("1 day", Some(86_400_000));
        check("90", Some(90_000));
        check("-5m", None);
        check("soon", None);
        check("", None);
    }
}
