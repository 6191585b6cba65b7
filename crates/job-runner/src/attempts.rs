//! The number of attempts of a stage, and the pauses between them.

use executor_core::Cancellation;
use executor_core::variable::JobVariables;
use std::time::Duration;

const MAX_ATTEMPTS: i64 = 10;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);

/// Reads a variable like `GET_SOURCES_ATTEMPTS`; a value outside 1..=10 is clamped, with a warning.
pub(crate) fn read(variables: &JobVariables, name: &str) -> (u32, Option<String>) {
    let Some(text) = variables.get(name).filter(|text| !text.trim().is_empty()) else {
        return (1, None);
    };
    let Ok(number) = text.trim().parse::<i64>() else {
        return (
            1,
            Some(format!("{name} is ignored: {text:?} is not a number")),
        );
    };
    let clamped = number.clamp(1, MAX_ATTEMPTS);
    let warning = (clamped != number).then(|| {
        format!("{name} is {number}, which is not between 1 and {MAX_ATTEMPTS}; {clamped} is used")
    });
    (u32::try_from(clamped).unwrap_or(1), warning)
}

/// Returns the pause after this attempt, from 1: 5 s, 10 s, 20 s, up to 5 min.
pub(crate) fn pause_after(attempt: u32) -> Duration {
    let doubled = 2_u32.checked_pow(attempt.saturating_sub(1));
    doubled.map_or(LONGEST_PAUSE, |factor| {
        (FIRST_PAUSE * factor).min(LONGEST_PAUSE)
    })
}

/// Pauses; a requested stop ends the pause.
pub(crate) async fn pause(duration: Duration, cancellation: &Cancellation) {
    tokio::select! {
        () = tokio::time::sleep(duration) => {}
        _ = cancellation.canceled() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use executor_core::variable::JobVariable;

    #[test]
    fn attempts_are_clamped_with_a_warning() {
        let check = |value, expect, warned| {
            let variables = [JobVariable::public("A", value)].into_iter().collect();
            let (attempts, warning) = read(&variables, "A");
            assert_eq!((attempts, warning.is_some()), (expect, warned), "{value:?}");
        };
        check("", 1, false);
        check("3", 3, false);
        check("10", 10, false);
        check("0", 1, true);
        check("-4", 1, true);
        check("11", 10, true);
        check("many", 1, true);
    }

    #[test]
    fn pauses_grow_to_five_minutes() {
        assert_eq!(pause_after(1), Duration::from_secs(5));
        assert_eq!(pause_after(3), Duration::from_secs(20));
        assert_eq!(pause_after(9), Duration::from_mins(5));
        assert_eq!(pause_after(99), Duration::from_mins(5));
    }
}
