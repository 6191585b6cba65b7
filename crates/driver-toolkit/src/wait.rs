//! Waits for something that comes late: a free slot, an address, a server that answers.

use crate::failure::Failure;
use crate::stop::Stage;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// Why a check has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    /// A later check may succeed.
    #[error("{0}")]
    NotYet(String),
    /// No later check can succeed; the failure says whether a new attempt of the stage can.
    #[error(transparent)]
    Never(Failure),
}

impl NotReady {
    /// Returns a reason that passes with time.
    pub fn not_yet(reason: impl Display) -> Self {
        Self::NotYet(reason.to_string())
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
            NotReady::NotYet(reason) => Self::System(reason),
            NotReady::Never(failure) => failure,
        }
    }
}

/// How a wait goes on.
#[derive(Debug, Clone, Copy)]
pub struct Wait {
    /// The longest it may take. The deadline of the stage ends it too.
    pub limit: Duration,
    /// The pause between two checks. Each differs by up to a fifth, so that many waiters spread out.
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
            let reason = match check() {
                Ok(found) => return Ok(found),
                Err(NotReady::Never(failure)) => return Err(failure.during(what)),
                Err(NotReady::NotYet(reason)) => reason,
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
            let jitter = 0.8 + 0.4 * fastrand::f64();
            stage.stop.sleep(self.pause.mul_f64(jitter).min(left))?;
        }
    }
}
