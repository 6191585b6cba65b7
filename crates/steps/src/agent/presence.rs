//! Whether anybody is there whom the agent serves.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How often it is looked at most, and at least.
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(5);

/// Since when nobody is connected.
#[derive(Debug)]
pub(crate) struct Presence {
    grace: Option<Duration>,
    alone_since: Option<Instant>,
    next: Instant,
}

impl Presence {
    /// Begins alone.
    pub(crate) fn new(grace: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            grace,
            alone_since: Some(now),
            next: now,
        }
    }

    /// Waits until it is time to look again; for ever without a grace.
    pub(crate) async fn time_to_look(&self) {
        match self.grace {
            Some(_) => sleep_until(self.next).await,
            None => pending().await,
        }
    }

    /// Notes whether anybody is there; true if it is time to end.
    pub(crate) fn look(&mut self, anybody: bool) -> bool {
        let Some(grace) = self.grace else {
            return false;
        };
        let now = Instant::now();
        self.next = now + (grace / 10).clamp(OFTEN, SELDOM);
        if anybody {
            self.alone_since = None;
            return false;
        }
        now.duration_since(*self.alone_since.get_or_insert(now)) >= grace
    }

    /// Notes that somebody came or went this moment.
    pub(crate) fn reset(&mut self) {
        self.alone_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_agent_ends_when_nobody_was_there_for_the_whole_grace() {
        let mut presence = Presence::new(Some(Duration::from_secs(100)));
        let begin = Instant::now();
        let visits = [Duration::from_secs(65), Duration::from_secs(145)];
        loop {
            presence.time_to_look().await;
            let since = begin.elapsed();
            if visits
                .iter()
                .any(|visit| since.abs_diff(*visit) < Duration::from_secs(3))
            {
                presence.reset();
            }
            if presence.look(since > Duration::from_secs(200) && since < Duration::from_secs(210)) {
                break;
            }
        }
        let end = begin.elapsed().as_secs();
        assert!((300..=325).contains(&end), "{end}");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_grace_it_never_ends() {
        let mut presence = Presence::new(None);
        let day = tokio::time::timeout(Duration::from_hours(24), presence.time_to_look());
        assert!(day.await.is_err());
        assert!(!presence.look(false));
    }
}
