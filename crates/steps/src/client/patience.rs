use super::options::ClientOptions;
use std::time::Duration;

/// How long to go on with a service that does not answer. It knows no clock: times are given.
#[derive(Debug)]
pub(crate) struct Patience {
    first: Duration,
    longest: Duration,
    next: Duration,
    /// Since when it has not answered.
    silent_since: Option<Duration>,
}

/// What comes after a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Another attempt, when this time has passed.
    Retry(Duration),
    /// Nothing: it has been gone for so long.
    GiveUp(Duration),
}

impl Patience {
    pub(crate) fn new(options: &ClientOptions) -> Self {
        Self {
            first: options.first_back_off,
            longest: options.longest_back_off,
            next: options.first_back_off,
            silent_since: None,
        }
    }

    /// The service answered.
    pub(crate) fn answered(&mut self) {
        self.silent_since = None;
    }

    /// The service did something useful; the next failure is the first again.
    pub(crate) fn progressed(&mut self) {
        self.silent_since = None;
        self.next = self.first;
    }

    /// A call failed at `now`; the service may be gone for `limit`.
    pub(crate) fn failed(&mut self, now: Duration, limit: Duration) -> After {
        let since = *self.silent_since.get_or_insert(now);
        let gone = now.saturating_sub(since);
        if gone >= limit {
            return After::GiveUp(gone);
        }
        let wait = self.next.min(limit.saturating_sub(gone));
        self.next = (self.next * 2).min(self.longest);
        After::Retry(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn patience() -> Patience {
        Patience::new(&ClientOptions {
            first_back_off: MS(10),
            longest_back_off: MS(35),
            ..ClientOptions::default()
        })
    }

    #[test]
    fn waits_grow_and_end_at_the_limit() {
        let mut patience = patience();
        let limit = MS(100);
        assert_eq!(patience.failed(MS(1000), limit), After::Retry(MS(10)));
        assert_eq!(patience.failed(MS(1010), limit), After::Retry(MS(20)));
        assert_eq!(patience.failed(MS(1030), limit), After::Retry(MS(35)));
        assert_eq!(patience.failed(MS(1090), limit), After::Retry(MS(10)));
        assert_eq!(patience.failed(MS(1100), limit), After::GiveUp(MS(100)));
    }

    #[test]
    fn an_answer_starts_the_time_again_and_progress_the_waits_too() {
        let mut patience = patience();
        let limit = MS(100);
        assert_eq!(patience.failed(MS(0), limit), After::Retry(MS(10)));
        patience.answered();
        assert_eq!(patience.failed(MS(500), limit), After::Retry(MS(20)));
        patience.progressed();
        assert_eq!(patience.failed(MS(900), limit), After::Retry(MS(10)));
    }
}
