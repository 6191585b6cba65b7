//! The removal of what a job has used.

use crate::failure::Failure;
use crate::stop::Stage;
use crate::wait::{NotReady, Wait};
use std::time::Duration;

/// How long a step of a cleanup is repeated.
const STEP_LIMIT: Duration = Duration::from_mins(1);

/// Runs the steps of a cleanup, each of them whatever became of those before, and collects what is left.
#[derive(Debug)]
pub struct Cleanup<'a> {
    stage: Stage<'a>,
    leftovers: Vec<String>,
}

impl<'a> Cleanup<'a> {
    /// Returns a cleanup that takes until the deadline of the stage, whatever signals arrive.
    pub fn new(stage: Stage<'a>) -> Self {
        Self {
            stage,
            leftovers: Vec::new(),
        }
    }

    /// The stage, for steps that wait on their own.
    pub fn stage(&self) -> &Stage<'a> {
        &self.stage
    }

    /// Runs a step. A step whose object is absent succeeds. [`NotReady::NotYet`] repeats it for up to a minute.
    ///
    /// Returns whether it succeeded.
    pub fn step(&mut self, what: &str, action: impl FnMut() -> Result<(), NotReady>) -> bool {
        let wait = Wait {
            limit: STEP_LIMIT,
            pause: Duration::from_secs(1),
        };
        match wait.until(what, &self.stage, action) {
            Ok(()) => true,
            Err(failure) => {
                self.leave(failure.to_string());
                false
            }
        }
    }

    /// Reports something that is left, with the reason.
    pub fn leave(&mut self, reason: String) {
        self.stage.log(&reason);
        self.leftovers.push(reason);
    }

    /// Ends the cleanup.
    ///
    /// # Errors
    ///
    /// When something is left.
    pub fn finish(self) -> Result<(), Failure> {
        match self.leftovers.as_slice() {
            [] => Ok(()),
            left => Err(Failure::system(format!(
                "the cleanup is incomplete: {}",
                left.join("; ")
            ))),
        }
    }
}
