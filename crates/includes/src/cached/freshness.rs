//! Decides whether a stored answer may be used without asking the server.

use crate::FetchPolicy;
use std::fmt::Debug;
use std::time::{Duration, SystemTime};

/// When a stored answer was last confirmed and last requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// When the server last confirmed the answer.
    pub(super) checked: SystemTime,
    /// When this process last asked, whether or not the server could be reached.
    pub(super) asked: Option<SystemTime>,
}

/// What to do with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Use the stored answer.
    Use,
    /// Ask the server.
    Ask,
    /// Refuse: nothing is stored, and the policy forbids asking.
    Refuse,
}

/// Decides what to do with a question.
///
/// `settled` means that the answer never changes. `limit` is the greatest age of an answer that may change.
pub(super) fn step(
    fetching: FetchPolicy,
    settled: bool,
    kept: Option<Times>,
    now: SystemTime,
    limit: Duration,
) -> Step {
    let Some(times) = kept else {
        return match fetching {
            FetchPolicy::Offline => Step::Refuse,
            FetchPolicy::Usual | FetchPolicy::Refresh => Step::Ask,
        };
    };
    // A time in the future says nothing: the clock was set back.
    let is_young = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age < limit);
    let fresh = match fetching {
        FetchPolicy::Offline => true,
        FetchPolicy::Usual => is_young(times.checked) || times.asked.is_some_and(is_young),
        // Once per process is enough, unless the process lives long.
        FetchPolicy::Refresh => times.asked.is_some_and(is_young),
    };
    if settled || fresh {
        Step::Use
    } else {
        Step::Ask
    }
}

/// A source of the current time.
pub trait Clock: Debug + Send + Sync {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_by_policy_and_age() {
        use FetchPolicy::{Offline, Refresh, Usual};
        use Step::{Ask, Refuse, Use};
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let check = |fetching, settled, kept: Option<(u64, Option<u64>)>, expect| {
            let times = kept.map(|(checked, asked)| Times {
                checked: at(checked),
                asked: asked.map(at),
            });
            let found = step(fetching, settled, times, at(1000), Duration::from_mins(10));
            assert_eq!(found, expect, "{fetching:?}, settled {settled}, {kept:?}");
        };
        // Nothing is stored.
        for settled in [false, true] {
            check(Usual, settled, None, Ask);
            check(Refresh, settled, None, Ask);
            check(Offline, settled, None, Refuse);
        }
        // Answers that never change.
        for fetching in [Usual, Refresh, Offline] {
            check(fetching, true, Some((1, None)), Use);
            check(fetching, true, Some((2000, None)), Use);
        }
        // Answers that may change: young, at the limit, old, from the future.
        for (checked, usual) in [(401, Use), (400, Ask), (1, Ask), (1001, Ask), (1000, Use)] {
            check(Usual, false, Some((checked, None)), usual);
            check(Refresh, false, Some((checked, None)), Ask);
            check(Offline, false, Some((checked, None)), Use);
        }
        // This process asked before: the server did not answer, or a fresh answer is required.
        check(Usual, false, Some((1, Some(999))), Use);
        check(Refresh, false, Some((1, Some(999))), Use);
        check(Refresh, false, Some((999, Some(400))), Ask);
    }
}
