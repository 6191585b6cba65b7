use std::time::{Duration, Instant};

/// When to compare the tree after an event: once no more events come, but within a limit.
///
/// Editors save in several steps, and `git checkout` writes thousands of files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Debounce {
    first: Instant,
    last: Instant,
}

/// How long no event must come.
const QUIET: Duration = Duration::from_millis(40);

/// The longest wait for that.
const LIMIT: Duration = Duration::from_secs(2);

/// The longest wait for git to finish its change of the tree.
const LIMIT_FOR_GIT: Duration = Duration::from_secs(30);

impl Debounce {
    /// Starts with the first event.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            first: now,
            last: now,
        }
    }

    /// Adds an event.
    pub(super) fn event(&mut self, now: Instant) {
        self.last = now;
    }

    /// Returns how long to wait; `None` when it is time to compare. `git_is_busy` is whether git changes the tree.
    pub(super) fn left(&self, now: Instant, git_is_busy: bool) -> Option<Duration> {
        let waited = now.saturating_duration_since(self.first);
        let limit = if git_is_busy { LIMIT_FOR_GIT } else { LIMIT };
        if waited >= limit {
            return None;
        }
        let quiet_at = if git_is_busy { now } else { self.last } + QUIET;
        let left = quiet_at.saturating_duration_since(now);
        (!left.is_zero()).then(|| left.min(limit.saturating_sub(waited)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_quiet_within_a_limit() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let millis = |left: Option<Duration>| left.map(|left| left.as_millis());
        let mut debounce = Debounce::new(start);
        assert_eq!(millis(debounce.left(at(0), false)), Some(40));
        debounce.event(at(30));
        assert_eq!(millis(debounce.left(at(40), false)), Some(30));
        assert_eq!(millis(debounce.left(at(70), false)), None);
        assert_eq!(millis(debounce.left(at(70), true)), Some(40));
        debounce.event(at(1990));
        assert_eq!(millis(debounce.left(at(1990), false)), Some(10));
        debounce.event(at(2000));
        assert_eq!(millis(debounce.left(at(2000), false)), None);
        assert_eq!(millis(debounce.left(at(29_990), true)), Some(10));
        assert_eq!(millis(debounce.left(at(30_000), true)), None);
    }
}
