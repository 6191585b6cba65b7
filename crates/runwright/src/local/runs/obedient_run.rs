//! A run that does what it is told.

use super::control::{ControlReply, ControlRequest, Obedience};
use super::notices::Notices;
use executor_core::variable::JobVariable;
use executor_core::{CancelCause, Cancellation};
use pipeline::scheduler::{ControlError, Controls};

/// A run that does what it is told.
#[derive(Debug)]
pub(in crate::local) struct ObedientRun {
    pub(in crate::local) controls: Controls,
    /// Ends the run.
    pub(in crate::local) stop: Cancellation,
    pub(in crate::local) notices: Notices,
}

impl Obedience for ObedientRun {
    fn obey(&self, request: ControlRequest) -> ControlReply {
        let done = match request {
            ControlRequest::Play { job, variables } => {
                let variables = variables.into_iter();
                let variables = variables.map(|it| JobVariable::public(it.key, it.value));
                self.controls.play(&job, variables.collect())
            }
            ControlRequest::CancelJob { job } => self.controls.cancel_job(&job),
            ControlRequest::Cancel => {
                self.notices.tell("canceled by another command");
                self.controls.cancel()
            }
            ControlRequest::Abort => {
                self.notices.tell("ended at once by another command");
                self.stop.abort(CancelCause::User);
                Ok(())
            }
            ControlRequest::Status => match self.controls.status() {
                Ok(snapshot) => return ControlReply::Status(snapshot.into()),
                Err(error) => Err(error),
            },
        };
        match done {
            Ok(()) => ControlReply::Done,
            Err(error) => refusal(error),
        }
    }
}

fn refusal(error: ControlError) -> ControlReply {
    ControlReply::Refused {
        message: error.to_string(),
        suggestion: match error {
            ControlError::UnknownJob { suggestion, .. } => suggestion,
            _ => None,
        },
    }
}
