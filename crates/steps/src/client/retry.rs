use super::options::ClientOptions;
use std::time::Duration;

/// Decides how long to retry while a service does not answer. It has no clock: the caller passes the time.
#[derive(Debug)]
pub(crate) struct RetryPolicy {
    first: Duration,
    longest: Duration,
    next: Duration,
    /// Since when the service has not answered.
    silent_since: Option<Duration>,
}

/// What follows a failure.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Another attempt after this delay.
    Retry(Duration),
    /// No other attempt: the service has been gone for this long.
    GiveUp(Duration),
}

impl RetryPolicy {
    pub(crate) fn new(options: &ClientOptions) -> Self {
        Self {
            first: options.first_back_off,
            longest: options.longest_back_off,
            next: options.first_back_off,
            silent_since: None,
        }
    }

    /// Records an answer.
    pub(crate) fn answered(&mut self) {
        self.silent_since = None;
    }

    /// Records progress: the delays start again.
    pub(crate) fn progressed(&mut self) {
        self.silent_since = None;
        self.next = self.first;
    }

    /// Records a failure at `now`; the service may be gone for up to `limit`.
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

    fn retry() -> RetryPolicy {
        RetryPolicy::new(&ClientOptions {
            first_back_off: MS(10),
            longest_back_off: MS(35),
            ..ClientOptions::default()
        })
    }

    #[test]
    fn delays_grow_up_to_the_limit() {
        let mut retry = retry();
        let limit = MS(100);
        assert_eq!(retry.failed(MS(1000), limit), After::Retry(MS(10)));
        assert_eq!(retry.failed(MS(1010), limit), After::Retry(MS(20)));
        assert_eq!(retry.failed(MS(1030), limit), After::Retry(MS(35)));
        assert_eq!(retry.failed(MS(1090), limit), After::Retry(MS(10)));
        assert_eq!(retry.failed(MS(1100), limit), After::GiveUp(MS(100)));
    }

    #[test]
    fn answer_resets_the_deadline_and_progress_resets_the_delays() {
        let mut retry = retry();
        let limit = MS(100);
        assert_eq!(retry.failed(MS(0), limit), After::Retry(MS(10)));
        retry.answered();
        assert_eq!(retry.failed(MS(500), limit), After::Retry(MS(20)));
        retry.progressed();
        assert_eq!(retry.failed(MS(900), limit), After::Retry(MS(10)));
    }
}
