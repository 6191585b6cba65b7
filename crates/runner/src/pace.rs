//! When a runner asks for the next job.

use crate::delivery::backoff;
use std::time::Duration;
use tokio::time::Instant;

/// The first longer pause after refused polls.
const FIRST_REST: Duration = Duration::from_mins(1);

/// The settings of a [`Pace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaceSettings {
    pub(crate) check_interval: Duration,
    pub(crate) unhealthy_requests_limit: u32,
    pub(crate) unhealthy_interval: Duration,
    /// The most polls at a time (`request_concurrency`).
    pub(crate) most_polls: usize,
    /// Whether the number of polls at a time follows the answers.
    pub(crate) is_adaptive: bool,
}

/// The result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Polled {
    /// A job came.
    Job,
    /// The server has none.
    None,
    /// The server has none, and could not hold the request, which had no `last_update`; the next one has.
    NoneYet,
    /// The server does not accept the token.
    Forbidden,
    /// There was no answer, or none that helps; the server may ask for a pause.
    Failed(Option<Duration>),
    /// No request was sent: the executor has no capacity, or failed.
    NotAsked,
}

/// The time of the next poll, from the results of earlier ones.
#[derive(Debug)]
pub(crate) struct Pace {
    settings: PaceSettings,
    next: Instant,
    /// Failed polls in a row, and refused ones.
    failed: u32,
    refused: u32,
    /// The number of polls at a time, before it is rounded down; at least 1.
    polls: f64,
}

impl Pace {
    pub(crate) fn new(settings: PaceSettings) -> Self {
        Self {
            settings,
            next: Instant::now(),
            failed: 0,
            refused: 0,
            polls: 1.0,
        }
    }

    /// Returns how many polls may be open at a time.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a small number, and at least 1"
    )]
    pub(crate) fn polls(&self) -> usize {
        let most = self.settings.most_polls;
        if self.settings.is_adaptive {
            (self.polls as usize).min(most)
        } else {
            most
        }
    }

    /// Lets the number of polls follow an answer: while jobs come, the next ones are asked for at once.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a setting, which is a small number"
    )]
    fn adapt(&mut self, polled: Polled) {
        let polls = match polled {
            Polled::Job => self.polls + 1.0,
            Polled::None => self.polls * 0.95,
            Polled::Forbidden | Polled::Failed(_) => self.polls * 0.5,
            Polled::NoneYet | Polled::NotAsked => self.polls,
        };
        self.polls = polls.min(self.settings.most_polls as f64).max(1.0);
    }

    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Returns whether the next poll comes later than it usually would.
    pub(crate) fn is_resting(&self) -> bool {
        self.next > Instant::now() + self.settings.check_interval
    }

    /// Notes the result of a poll that began at `began` and ended now.
    pub(crate) fn note(&mut self, polled: Polled, began: Instant) {
        let PaceSettings {
            check_interval,
            unhealthy_requests_limit,
            unhealthy_interval,
            ..
        } = self.settings;
        self.adapt(polled);
        let now = Instant::now();
        let failed = std::mem::take(&mut self.failed);
        let refused = std::mem::take(&mut self.refused);
        let usual = (began + check_interval).max(now);
        self.next = match polled {
            Polled::Job | Polled::NoneYet => now,
            Polled::None => usual,
            Polled::NotAsked => now + check_interval,
            Polled::Failed(wanted) => {
                self.failed = failed + 1;
                self.refused = refused;
                now + wanted.unwrap_or_else(|| backoff(self.failed).max(check_interval))
            }
            Polled::Forbidden => {
                self.refused = refused + 1;
                let Some(beyond) = self.refused.checked_sub(unhealthy_requests_limit) else {
                    self.next = usual;
                    return;
                };
                let rest = FIRST_REST * 2_u32.saturating_pow(beyond.min(16));
                now + rest.min(unhealthy_interval)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_depend_on_the_answers() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(PaceSettings {
            check_interval: seconds(3),
            unhealthy_requests_limit: 3,
            unhealthy_interval: seconds(200),
            most_polls: 1,
            is_adaptive: true,
        });
        let mut check = |polled, took: u64, expect: u64| {
            let now = Instant::now();
            // The poll took that long, and ends now.
            pace.note(polled, now.checked_sub(seconds(took)).expect("a moment"));
            assert_eq!((pace.next() - now).as_secs(), expect, "{polled:?}");
        };
        tokio::time::advance(seconds(100)).await;
        check(Polled::None, 1, 2);
        check(Polled::None, 50, 0);
        check(Polled::Job, 0, 0);
        check(Polled::NoneYet, 0, 0);
        check(Polled::NotAsked, 0, 3);
        for pause in [3, 3, 4, 8, 16, 32, 60, 60] {
            check(Polled::Failed(None), 0, pause);
        }
        check(Polled::Failed(Some(seconds(7))), 0, 7);
        check(Polled::None, 0, 3);
        check(Polled::Failed(None), 0, 3);
        for pause in [3, 3, 60, 120, 200, 200] {
            check(Polled::Forbidden, 0, pause);
        }
        check(Polled::Job, 0, 0);
        check(Polled::Forbidden, 0, 3);
    }
    #[test]
    fn number_of_polls_follows_the_answers() {
        let mut settings = PaceSettings {
            check_interval: Duration::ZERO,
            unhealthy_requests_limit: 3,
            unhealthy_interval: Duration::ZERO,
            most_polls: 4,
            is_adaptive: true,
        };
        let mut pace = Pace::new(settings);
        let mut check = |polled, times: usize, expect: usize| {
            for _ in 0..times {
                pace.note(polled, Instant::now());
            }
            assert_eq!(pace.polls(), expect, "{polled:?}");
        };
        check(Polled::Job, 1, 2);
        check(Polled::Job, 9, 4);
        check(Polled::None, 1, 3);
        check(Polled::NotAsked, 9, 3);
        check(Polled::Failed(None), 1, 1);
        check(Polled::None, 9, 1);
        settings.is_adaptive = false;
        assert_eq!(Pace::new(settings).polls(), 4);
    }
}
