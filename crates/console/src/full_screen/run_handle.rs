use super::state::{Action, JobId};
use crate::text::shown_name;
use executor_core::{CancelCause, Cancellation};
use parking_lot::Mutex;
use scheduler::{ControlError, Controls, Hold};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::runtime::Handle;
use workstation::{JobTerminal, ReachableJobs, RunControls, RunOptions};

/// The run that the keys of the full screen act on.
#[derive(Debug)]
pub struct RunHandle {
    controls: RunControls,
    reachable_jobs: ReachableJobs,
    shells: Shells,
    cancellation: Cancellation,
    hold: Mutex<Option<Hold>>,
}

/// How shells are opened.
#[derive(Debug)]
pub struct Shells {
    /// The runtime in which sessions run.
    pub runtime: Handle,
    /// Whether they read the start files of the user.
    pub profile: bool,
    /// The words of the command that enters a job of this run, without its name.
    pub words: Vec<String>,
    /// Set while Ctrl-C is for another program.
    pub is_deaf: Arc<AtomicBool>,
}

impl RunHandle {
    /// Returns a handle of the run with these options; `cancellation` stops it.
    pub fn new(options: &RunOptions, shells: Shells, cancellation: Cancellation) -> Self {
        Self {
            controls: options.controls.clone(),
            reachable_jobs: options.reachable_jobs.clone(),
            shells,
            cancellation,
            hold: Mutex::new(None),
        }
    }

    /// Returns the terminal of a running job.
    pub(super) fn job_terminal(&self, id: &JobId) -> Option<JobTerminal> {
        let job = self.controls.job(id.pipeline, &id.job)?;
        self.reachable_jobs.of(job)?.terminal
    }

    pub(super) fn shells(&self) -> &Shells {
        &self.shells
    }

    pub(super) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Keeps the pipeline open, so that jobs can be started and retried after all have ended.
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

    /// Performs an action that does not concern the terminal; returns a note about it.
    pub(super) fn act(&self, action: Action) -> Option<String> {
        let note = |id: &JobId, verb: &str, done: Result<(), ControlError>| {
            Some(match done {
                Ok(()) => format!("{verb} {}", shown_name(&id.job)),
                // The first pipeline is held open, so this is a child pipeline.
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
                note(&id, "starts", done)
            }
            Action::Retry(id) => {
                let done = self.request(&id, async |it| it.retry(&id.job).await);
                note(&id, "runs again", done)
            }
            Action::CancelJob(id) => {
                let done = self.request(&id, async |it| it.cancel_job(&id.job).await);
                note(&id, "cancels", done)
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
