use super::shells::Shells;
use super::state::{Action, JobId};
use crate::text::shown_name;
use executor_core::{CancelCause, Cancellation};
use parking_lot::Mutex;
use scheduler::{ControlError, Controls, Hold};
use workstation::{JobTerminal, RunControls, RunOptions, Terminals};

/// What the keys of the full screen act on.
#[derive(Debug)]
pub struct RunHandle {
    controls: RunControls,
    terminals: Terminals,
    shells: Shells,
    cancellation: Cancellation,
    hold: Mutex<Option<Hold>>,
}

impl RunHandle {
    /// Returns the world of a run that these options control and that this stops.
    pub fn new(options: &RunOptions, shells: Shells, cancellation: Cancellation) -> Self {
        Self {
            controls: options.controls.clone(),
            terminals: options.terminals.clone(),
            shells,
            cancellation,
            hold: Mutex::new(None),
        }
    }

    /// Returns what opens shells in a job that runs.
    pub(super) fn door(&self, id: &JobId) -> Option<JobTerminal> {
        self.terminals.of(self.controls.job(id.pipeline, &id.job)?)
    }

    pub(super) fn shells(&self) -> &Shells {
        &self.shells
    }

    pub(super) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Keeps the pipeline open, so that jobs can be started and run again after all have ended.
    pub(super) fn hold(&self) {
        let hold = self.controls.first().hold();
        *self.hold.lock() = Some(hold);
    }

    #[cfg(test)]
    pub(super) fn is_holding(&self) -> bool {
        let hold = self.hold.lock();
        hold.is_some()
    }

    /// Lets the pipeline end.
    pub(super) fn release(&self) {
        let hold = self.hold.lock().take();
        drop(hold);
    }

    /// Does what is not about the terminal; returns what is to be said of it.
    pub(super) fn act(&self, action: Action) -> Option<String> {
        let said = |id: &JobId, verb: &str, done: Result<(), ControlError>| {
            Some(match done {
                Ok(()) => format!("{verb} {}", shown_name(&id.job)),
                // The first one is held open, so it is one that a job started.
                Err(error @ ControlError::Ended) => {
                    format!("{error}; the job that started it can be run again")
                }
                Err(error) => match error.suggestion() {
                    Some(suggestion) => format!("{error}; {suggestion}"),
                    None => error.to_string(),
                },
            })
        };
        match action {
            Action::Play(id, variables) => {
                let done = self.request(&id, async |it| it.play(&id.job, variables).await);
                said(&id, "starts", done)
            }
            Action::Retry(id) => {
                let done = self.request(&id, async |it| it.retry(&id.job).await);
                said(&id, "runs again", done)
            }
            Action::CancelJob(id) => {
                let done = self.request(&id, async |it| it.cancel_job(&id.job).await);
                said(&id, "cancels", done)
            }
            Action::CancelAll => {
                self.cancellation.cancel(CancelCause::User);
                Some("cancels the pipeline; Ctrl-C ends everything at once".to_owned())
            }
            Action::Abort => {
                self.cancellation.abort(CancelCause::User);
                Some("ends everything at once".to_owned())
            }
            Action::Shell(_)
            | Action::Leave
            | Action::Suspend
            | Action::CaptureMouse(_)
            | Action::Redraw => None,
        }
    }

    /// Sends a request to the pipeline of a job, and blocks until it is answered.
    fn request(
        &self,
        id: &JobId,
        request: impl AsyncFnOnce(&Controls) -> Result<(), ControlError>,
    ) -> Result<(), ControlError> {
        let controls = self.controls.of(id.pipeline);
        let controls = controls.ok_or(ControlError::NotBegun)?;
        self.shells.runtime.block_on(request(&controls))
    }
}
