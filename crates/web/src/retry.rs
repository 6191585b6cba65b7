use crate::Limits;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use std::time::Duration;

/// How an attempt ended, as far as it decides on another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A response with this status, and the wait that its `Retry-After` asks for.
    Answer(u16, Option<Duration>),
    /// No response in time.
    Late,
    /// The connection broke after it was established.
    Broken,
    /// Another attempt would end in the same way.
    Settled,
}

/// Returns how long to wait before another attempt; `None` if there is to be none.
///
/// `attempt` counts from one, and `left` is the time that remains. When a server asks for a longer wait than
/// `patience`, its response is final, so that the user sees it.
pub(crate) fn wait(
    limits: &Limits,
    attempt: usize,
    ending: Ending,
    left: Duration,
) -> Option<Duration> {
    if attempt >= limits.attempts {
        return None;
    }
    let doublings = u32::try_from(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
    let pause = limits.pause.saturating_mul(2_u32.saturating_pow(doublings));
    let wait = match ending {
        Ending::Answer(status, asked) if is_passing(status) => match asked {
            Some(asked) if asked > limits.patience => return None,
            asked => pause.max(asked.unwrap_or_default()),
        },
        Ending::Settled | Ending::Answer(..) => return None,
        Ending::Late | Ending::Broken => pause,
    };
    (wait < left).then_some(wait)
}

/// Returns whether a status may change on another attempt.
fn is_passing(status: u16) -> bool {
    // 501 and 505 are about the server's abilities.
    matches!(status, 429 | 500 | 502..=504 | 506..=599)
}

/// Parses a `Retry-After`: a number of seconds, or a time.
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
    // A time in the past means no wait.
    Some(Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ending::{Answer, Broken, Late, Settled};

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn temporary_failures_are_retried() {
        let limits = Limits::default();
        let (plenty, seconds) = (millis(60_000), Duration::from_secs);
        for (attempt, ending, expect) in [
            (1, Answer(200, None), None),
            (1, Answer(304, None), None),
            (1, Answer(401, None), None),
            (1, Answer(404, Some(seconds(1))), None),
            (1, Answer(501, None), None),
            (1, Settled, None),
            (1, Answer(500, None), Some(millis(250))),
            (2, Answer(502, None), Some(millis(500))),
            (3, Answer(502, None), None),
            (1, Answer(520, None), Some(millis(250))),
            (1, Late, Some(millis(250))),
            (2, Late, Some(millis(500))),
            (3, Late, None),
            (1, Broken, Some(millis(250))),
            (1, Answer(429, None), Some(millis(250))),
            (1, Answer(429, Some(seconds(0))), Some(millis(250))),
            (1, Answer(429, Some(seconds(3))), Some(seconds(3))),
            (1, Answer(429, Some(seconds(10))), Some(seconds(10))),
            (1, Answer(429, Some(seconds(11))), None),
            (1, Answer(503, Some(seconds(u64::MAX))), None),
        ] {
            assert_eq!(
                wait(&limits, attempt, ending, plenty),
                expect,
                "{attempt} {ending:?}"
            );
        }
    }

    #[test]
    fn no_wait_exceeds_the_time_left() {
        let limits = Limits::default();
        assert_eq!(wait(&limits, 1, Late, millis(250)), None);
        assert_eq!(wait(&limits, 1, Late, millis(251)), Some(millis(250)));
        let many = Limits {
            attempts: usize::MAX,
            ..limits
        };
        assert_eq!(
            wait(&many, usize::MAX - 1, Late, Duration::from_mins(1)),
            None
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_time() {
        let now = "2015-10-21T07:28:00Z".parse().expect("a time");
        for (value, expect) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Wed, 21 Oct 2015 07:28:30 GMT", Some(30)),
            ("Wed, 21 Oct 2015 07:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(
                retry_after(value, now),
                expect.map(Duration::from_secs),
                "{value}"
            );
        }
    }
}
