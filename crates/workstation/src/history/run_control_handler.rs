use super::control::{ControlHandler, ControlReply, ControlRequest};
use super::notices::Notices;
use async_trait::async_trait;
use executor_core::variable::JobVariable;
use executor_core::{CancelCause, Cancellation};
use pipeline::Plan;
use scheduler::Status;
use scheduler::{ControlError, Controls, Redundant, redundant};
use std::collections::HashMap;
use std::sync::Arc;

/// Handles control requests to a pipeline.
#[derive(Debug)]
pub(crate) struct RunControlHandler {
    pub(crate) plan: Arc<Plan>,
    pub(crate) controls: Controls,
    /// Aborts the run; `None` for a downstream pipeline, which is aborted with its run only.
    pub(crate) stop: Option<Cancellation>,
    pub(crate) notices: Notices,
}

#[async_trait]
impl ControlHandler for RunControlHandler {
    async fn handle(&self, request: ControlRequest) -> ControlReply {
        let done = match request {
            ControlRequest::Play { job, variables } => {
                let variables = variables.into_iter();
                let variables = variables.map(|it| JobVariable::public(it.key, it.value));
                self.controls.play(&job, variables.collect()).await
            }
            ControlRequest::Retry { job } => self.controls.retry(&job).await,
            ControlRequest::CancelJob { job } => self.controls.cancel_job(&job).await,
            ControlRequest::Cancel => {
                self.notices.show("canceled by another command");
                self.controls.cancel().await
            }
            ControlRequest::Abort => {
                let Some(stop) = &self.stop else {
                    return refused("only the run that started it can be aborted");
                };
                self.notices.show("aborted by another command");
                stop.abort(CancelCause::User);
                Ok(())
            }
            ControlRequest::Superseded { by, sha } => return self.supersede(by, &sha).await,
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
    /// Cancels what may be canceled for a newer run of the same ref.
    async fn supersede(&self, by: u64, sha: &str) -> ControlReply {
        let commit = &self.plan.context().commit;
        if commit.sha == sha {
            return refused("it is for the same commit");
        }
        let snapshot = match self.controls.status().await {
            Ok(snapshot) => snapshot,
            Err(error) => return refusal(&error),
        };
        let jobs = snapshot.jobs.iter();
        let statuses: HashMap<&str, Status> = jobs.map(|job| (&*job.name, job.status)).collect();
        let name = |at: usize| self.plan.jobs()[at].name();
        let status = |at: usize| statuses.get(name(at)).copied().unwrap_or(Status::Created);
        let why = format!("run {by} is for a newer commit of {}", commit.ref_name);
        match redundant(&self.plan, status) {
            Redundant::Nothing => refused("none of its jobs may be interrupted now"),
            Redundant::Pipeline => {
                self.notices.show(&format!("canceled: {why}"));
                match self.controls.cancel().await {
                    Ok(()) => ControlReply::Done,
                    Err(error) => refusal(&error),
                }
            }
            Redundant::Jobs(indices) => {
                let mut jobs = Vec::new();
                for job in indices.into_iter().map(name) {
                    // A job that has ended meanwhile needs no cancel.
                    if self.controls.cancel_job(job).await.is_ok() {
                        jobs.push(job.to_owned());
                    }
                }
                let list = jobs.join(", ");
                self.notices.show(&format!("canceled: {list}, since {why}"));
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
