//! Tracks whether a client is connected.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The shortest and the longest interval between checks.
const SHORTEST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_secs(5);

/// Tracks since when no client is connected.
#[derive(Debug)]
pub(crate) struct Presence {
    grace: Option<Duration>,
    idle_since: Option<Instant>,
    next: Instant,
}

impl Presence {
    /// Starts without clients.
    pub(crate) fn new(grace: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            grace,
            idle_since: Some(now),
            next: now,
        }
    }

    /// Waits for the next check; forever without a grace.
    pub(crate) async fn next_check(&self) {
        match self.grace {
            Some(_) => sleep_until(self.next).await,
            None => pending().await,
        }
    }

    /// Records whether clients are connected; returns true if the grace is over.
    pub(crate) fn check(&mut self, has_clients: bool) -> bool {
        let Some(grace) = self.grace else {
            return false;
        };
        let now = Instant::now();
        self.next = now + (grace / 10).clamp(SHORTEST, LONGEST);
        if has_clients {
            self.idle_since = None;
            return false;
        }
        now.duration_since(*self.idle_since.get_or_insert(now)) >= grace
    }

    /// Records that a client connected or disconnected just now.
    pub(crate) fn reset(&mut self) {
        self.idle_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn agent_ends_after_the_whole_grace_without_clients() {
        let mut presence = Presence::new(Some(Duration::from_secs(100)));
        let begin = Instant::now();
        let visits = [Duration::from_secs(65), Duration::from_secs(145)];
        loop {
            presence.next_check().await;
            let since = begin.elapsed();
            if visits
                .iter()
                .any(|visit| since.abs_diff(*visit) < Duration::from_secs(3))
            {
                presence.reset();
            }
            if presence.check(since > Duration::from_secs(200) && since < Duration::from_secs(210))
            {
                break;
            }
        }
        let end = begin.elapsed().as_secs();
        assert!((300..=325).contains(&end), "{end}");
    }

    #[tokio::test(start_paused = true)]
    async fn agent_without_a_grace_never_ends() {
        let mut presence = Presence::new(None);
        let day = tokio::time::timeout(Duration::from_hours(24), presence.next_check());
        assert!(day.await.is_err());
        assert!(!presence.check(false));
    }
}
