//! Whether an answer that is kept is used.

use crate::Fetching;
use std::time::{Duration, SystemTime};

/// What is known of an answer that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// When the server said last that it is right.
    pub(super) checked: SystemTime,
    /// When this process asked last, whether or not the server could be reached.
    pub(super) asked: Option<SystemTime>,
}

/// What to do about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Use what is kept.
    Use,
    /// Ask.
    Ask,
    /// Say that it is not kept, and nothing is asked.
    Refuse,
}

/// Decides.
///
/// `settled` says that the answer never changes, `limit` how old one that does may be.
pub(super) fn step(
    fetching: Fetching,
    settled: bool,
    kept: Option<Times>,
    now: SystemTime,
    limit: Duration,
) -> Step {
    let Some(times) = kept else {
        return match fetching {
            Fetching::Offline => Step::Refuse,
            Fetching::Usual | Fetching::Refresh => Step::Ask,
        };
    };
    // A time that is still to come says nothing: the clock was put back.
    let is_young = |time: SystemTime| now.duration_since(time).is_ok_and(|age| age < limit);
    let fresh = match fetching {
        Fetching::Offline => true,
        Fetching::Usual => is_young(times.checked) || times.asked.is_some_and(is_young),
        // Once in a process is enough, unless that lives long.
        Fetching::Refresh => times.asked.is_some_and(is_young),
    };
    if settled || fresh {
        Step::Use
    } else {
        Step::Ask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_about_a_question() {
        use Fetching::{Offline, Refresh, Usual};
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
        // Nothing is kept.
        for settled in [false, true] {
            check(Usual, settled, None, Ask);
            check(Refresh, settled, None, Ask);
            check(Offline, settled, None, Refuse);
        }
        // What never changes.
        for fetching in [Usual, Refresh, Offline] {
            check(fetching, true, Some((1, None)), Use);
            check(fetching, true, Some((2000, None)), Use);
        }
        // What may change: young, at the limit, old, from the future.
        for (checked, usual) in [(401, Use), (400, Ask), (1, Ask), (1001, Ask), (1000, Use)] {
            check(Usual, false, Some((checked, None)), usual);
            check(Refresh, false, Some((checked, None)), Ask);
            check(Offline, false, Some((checked, None)), Use);
        }
        // This process asked already: the server was silent, or it is to be fresh.
        check(Usual, false, Some((1, Some(999))), Use);
        check(Refresh, false, Some((1, Some(999))), Use);
        check(Refresh, false, Some((999, Some(400))), Ask);
    }
}
