//! Times as people read them.

use std::time::Duration;

/// Returns a time to a tenth of a second: `0.3 s`, `2 min 5 s`.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        whole @ 0..=59 => format!("{whole}.{} s", time.subsec_millis() / 100),
        _ => whole_seconds(time),
    }
}

/// Returns a time to a second: `12 s`, `2 min 5 s`.
pub(super) fn whole_seconds(time: Duration) -> String {
    let whole = time.as_secs();
    match whole {
        0..=59 => format!("{whole} s"),
        60..=3599 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Returns a time as a clock shows it, for what is shown while it passes: `0:12`, `2:05`.
pub(super) fn clock(time: Duration) -> String {
    let whole = time.as_secs();
    let (minutes, seconds) = (whole / 60, whole % 60);
    match minutes {
        0..=59 => format!("{minutes}:{seconds:02}"),
        _ => format!("{}:{:02}:{seconds:02}", minutes / 60, minutes % 60),
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
}
