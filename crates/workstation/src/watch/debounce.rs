use std::time::{Duration, Instant};

/// When to look after something happened: once all is quiet, but not too late.
///
/// Editors save in several steps, and `git checkout` writes thousands of files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Debounce {
    first: Instant,
    last: Instant,
}

/// So long must nothing happen.
const QUIET: Duration = Duration::from_millis(40);

/// So long is waited for that.
const LONGEST: Duration = Duration::from_secs(2);

/// So long is waited for git to end what it does to the tree.
const LONGEST_FOR_GIT: Duration = Duration::from_secs(30);

impl Debounce {
    /// Begins when the first thing happens.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            first: now,
            last: now,
        }
    }

    /// Notes that one more thing happened.
    pub(super) fn again(&mut self, now: Instant) {
        self.last = now;
    }

    /// Returns how long to wait yet; `None` when it is time to look. `git_is_busy` says whether git is at
    /// work in the tree.
    pub(super) fn left(&self, now: Instant, git_is_busy: bool) -> Option<Duration> {
        let waited = now.saturating_duration_since(self.first);
        let longest = if git_is_busy {
            LONGEST_FOR_GIT
        } else {
            LONGEST
        };
        if waited >= longest {
            return None;
        }
        let quiet_at = if git_is_busy { now } else { self.last } + QUIET;
        let left = quiet_at.saturating_duration_since(now);
        (!left.is_zero()).then(|| left.min(longest.saturating_sub(waited)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_waits_for_quiet_but_not_for_ever() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let millis = |left: Option<Duration>| left.map(|left| left.as_millis());
        let mut debounce = Debounce::new(start);
        assert_eq!(millis(debounce.left(at(0), false)), Some(40));
        debounce.again(at(30));
        assert_eq!(millis(debounce.left(at(40), false)), Some(30));
        assert_eq!(millis(debounce.left(at(70), false)), None);
        assert_eq!(millis(debounce.left(at(70), true)), Some(40));
        debounce.again(at(1990));
        assert_eq!(millis(debounce.left(at(1990), false)), Some(10));
        debounce.again(at(2000));
        assert_eq!(millis(debounce.left(at(2000), false)), None);
        assert_eq!(millis(debounce.left(at(29_990), true)), Some(10));
        assert_eq!(millis(debounce.left(at(30_000), true)), None);
    }
}
