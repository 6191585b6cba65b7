//! Waits for something that comes late: a free slot, an address, a server that answers.

use crate::failure::Failure;
use crate::stop::Stage;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Why a check has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// A later check may succeed.
    #[error("{reason}")]
    NotYet {
        /// Why it does not succeed now.
        reason: String,
        /// The least pause before the next check, if the other side asks for one.
        pause: Option<Duration>,
    },
    /// No later check can succeed; the failure says whether a new attempt of the stage can.
    #[error(transparent)]
    Never(Failure),
}

impl NotReady {
    /// Returns a reason that passes with time.
    pub fn not_yet(reason: impl Display) -> Self {
        Self::NotYet {
            reason: reason.to_string(),
            pause: None,
        }
    }

    /// Asks for a pause before the next check, such as that of the HTTP header `Retry-After`. It ends with the time of the wait.
    pub fn after(mut self, least: Duration) -> Self {
        if let Self::NotYet { pause, .. } = &mut self {
            *pause = Some(least);
        }
        self
    }

    /// Returns a failure of the infrastructure that does not pass: [`Failure::Permanent`].
    ///
    /// Where a new environment may do better, as when this one is gone, use `Failure::system(reason).into()`.
    pub fn never(reason: impl Display) -> Self {
        Self::Never(Failure::permanent(reason))
    }
}

impl From<Failure> for NotReady {
    fn from(failure: Failure) -> Self {
        Self::Never(failure)
    }
}

impl From<NotReady> for Failure {
    /// A reason to wait is a failure of the infrastructure for a caller that does not wait.
    fn from(reason: NotReady) -> Self {
        match reason {
            NotReady::NotYet { reason, .. } => Self::System(reason),
            NotReady::Never(failure) => failure,
        }
    }
}

/// How a wait goes on.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// The longest it may take. The deadline of the stage ends it too.
    pub limit: Duration,
    /// The pause between two checks, unless a check asks for a longer one ([`NotReady::after`]). Each differs by up to a fifth, so that
    /// many waiters spread out.
    pub pause: Duration,
}

impl Wait {
    /// Returns a wait that checks each second.
    pub fn within(limit: Duration) -> Self {
        Self {
            limit,
            pause: Duration::from_secs(1),
        }
    }

    /// Checks until there is a result. The reason for waiting is logged when it changes.
    ///
    /// # Errors
    ///
    /// The failure of [`NotReady::Never`], [`Failure::Stopped`], or a failure with the last reason when the time is over.
    pub fn until<T>(
        self,
        what: &str,
        stage: &Stage<'_>,
        mut check: impl FnMut() -> Result<T, NotReady>,
    ) -> Result<T, Failure> {
        let begun = Instant::now();
        let limit = stage.remaining(self.limit);
        let mut shown = None;
        loop {
            let (reason, asked) = match check() {
                Ok(found) => return Ok(found),
                Err(NotReady::Never(failure)) => return Err(failure.during(what)),
                Err(NotReady::NotYet { reason, pause }) => (reason, pause),
            };
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                let waited = begun.elapsed().as_secs_f64();
                return Err(Failure::system(format!(
                    "{what}: not ready after {waited:.1} s: {reason}"
                )));
            }
            if shown.as_ref() != Some(&reason) {
                stage.log(format!("{what}: {reason}"));
                shown = Some(reason);
            }
            stage.stop.sleep(self.next(asked, left, fastrand::f64()))?;
        }
    }

    /// Returns the next pause. `chance`, from 0 to 1, is where in its range it is; an asked one is never shorter.
    fn next(self, asked: Option<Duration>, left: Duration, chance: f64) -> Duration {
        let own = self.pause.min(left).mul_f64(0.8 + 0.4 * chance);
        let asked = asked.unwrap_or_default().min(left);
        asked.mul_f64(1.0 + 0.2 * chance).max(own).min(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_is_the_longer_one_within_the_time_left() {
        let wait = Wait::within(Duration::MAX);
        let next = |asked: Option<u64>, left, chance| {
            let (asked, left) = (asked.map(Duration::from_secs), Duration::from_secs(left));
            wait.next(asked, left, chance).as_millis()
        };
        for (asked, left, range) in [
            (None, 60, [800, 1200]),
            (Some(0), 60, [800, 1200]),
            (Some(30), 60, [30_000, 36_000]),
            (Some(30), 33, [30_000, 33_000]),
            (Some(u64::MAX), 60, [60_000, 60_000]),
            (Some(30), 0, [0, 0]),
        ] {
            let found = [0.0, 1.0].map(|chance| next(asked, left, chance));
            assert_eq!(found, range, "{asked:?} of {left}");
        }
        let asked = Duration::from_secs(3);
        let reason = NotReady::not_yet("busy").after(asked);
        assert!(matches!(reason, NotReady::NotYet { pause: Some(it), .. } if it == asked));
        let never = NotReady::never("broken");
        assert_eq!(never.clone().after(asked), never);
    }
}
