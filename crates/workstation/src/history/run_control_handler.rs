//! A run that does what it is told.

use super::control::{ControlReply, ControlRequest, Obedience};
use super::notices::Notices;
use async_trait::async_trait;
use executor_core::variable::JobVariable;
use executor_core::{CancelCause, Cancellation};
use pipeline::Plan;
use scheduler::Status;
use scheduler::{ControlError, Controls, Redundant, redundant};
use std::collections::HashMap;
use std::sync::Arc;

/// A run that does what it is told.
#[derive(Debug)]
pub(crate) struct RunControlHandler {
    pub(crate) plan: Arc<Plan>,
    pub(crate) controls: Controls,
    /// Ends the run at once; a pipeline that a job started ends so with the run above only.
    pub(crate) stop: Option<Cancellation>,
    pub(crate) notices: Notices,
}

#[async_trait]
impl Obedience for RunControlHandler {
    async fn obey(&self, request: ControlRequest) -> ControlReply {
        let done = match request {
            ControlRequest::Play { job, variables } => {
                let variables = variables.into_iter();
                let variables = variables.map(|it| JobVariable::public(it.key, it.value));
                self.controls.play(&job, variables.collect()).await
            }
            ControlRequest::Retry { job } => self.controls.retry(&job).await,
            ControlRequest::CancelJob { job } => self.controls.cancel_job(&job).await,
            ControlRequest::Cancel => {
                self.notices.tell("canceled by another command");
                self.controls.cancel().await
            }
            ControlRequest::Abort => {
                let Some(stop) = &self.stop else {
                    return refused("only the run above it can be ended at once");
                };
                self.notices.tell("ended at once by another command");
                stop.abort(CancelCause::User);
                Ok(())
            }
            ControlRequest::Superseded { by, sha } => return self.step_back(by, &sha).await,
            ControlRequest::Status => match self.controls.status().await {
                Ok(snapshot) => return ControlReply::Status(snapshot.into()),
                Err(error) => Err(error),
            },
        };
        match done {
            Ok(()) => ControlReply::Done,
            Err(error) => refusal(&error),
        }
    }
}

impl RunControlHandler {
    /// Cancels what may be canceled, as there is a newer run of the same ref.
    async fn step_back(&self, by: u64, sha: &str) -> ControlReply {
        let commit = &self.plan.context().commit;
        if commit.sha == sha {
            return refused("it is for the same commit");
        }
        let snapshot = match self.controls.status().await {
            Ok(snapshot) => snapshot,
            Err(error) => return refusal(&error),
        };
        let jobs = snapshot.jobs.iter();
        let stands: HashMap<&str, Status> = jobs.map(|job| (&*job.name, job.status)).collect();
        let name = |at: usize| self.plan.jobs()[at].name();
        let status = |at: usize| stands.get(name(at)).copied().unwrap_or(Status::Created);
        let why = format!("run {by} is for a newer commit of {}", commit.ref_name);
        match redundant(&self.plan, status) {
            Redundant::Nothing => refused("none of its jobs may be interrupted now"),
            Redundant::Pipeline => {
                self.notices.tell(&format!("canceled: {why}"));
                match self.controls.cancel().await {
                    Ok(()) => ControlReply::Done,
                    Err(error) => refusal(&error),
                }
            }
            Redundant::Jobs(places) => {
                let mut jobs = Vec::new();
                for job in places.into_iter().map(name) {
                    // A job that has ended in the meantime needs no cancel.
                    if self.controls.cancel_job(job).await.is_ok() {
                        jobs.push(job.to_owned());
                    }
                }
                let list = jobs.join(", ");
                self.notices.tell(&format!("canceled: {list}, since {why}"));
                ControlReply::Canceling { jobs }
            }
        }
    }
}

fn refused(message: &str) -> ControlReply {
    ControlReply::Refused {
        message: message.to_owned(),
        suggestion: None,
    }
}

fn refusal(error: &ControlError) -> ControlReply {
    ControlReply::Refused {
        message: error.to_string(),
        suggestion: error.suggestion(),
    }
}
