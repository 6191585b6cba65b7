//! Runs a stage as a request to the agent, the container's main process.

use crate::job::container::ended;
use crate::job::container::execs::Execs;
use crate::job::container::watch::{ContainerEnd, is_paused, unpause, wait_until_unpaused};
use crate::job::stage::stage_run::{SOON, Stage, Timing};
use executor_core::{BuildError, CancelCause, Cancellation, StageResult};
use std::time::Duration;
use steps::{NextRequest, RunTiming, StageRequest, StageRequests, StepsError};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long output of the agent may still arrive after the end of its container.
const LATE: Duration = Duration::from_millis(500);

/// How long after its agent a stopped container may end: `docker stop` waits 10 s.
const PARTING: Duration = Duration::from_secs(15);

/// Runs stages through one agent.
#[derive(Debug)]
pub(crate) struct AgentRunner {
    pub(crate) requests: StageRequests,
    /// The container's name.
    pub(crate) name: String,
    pub(crate) end: watch::Receiver<Option<ContainerEnd>>,
    pub(crate) shell: String,
    pub(crate) timing: Timing,
}

impl AgentRunner {
    /// Runs a stage to its end. One that another process has begun is followed, one that has ended is not run
    /// again.
    pub(crate) async fn run(&mut self, stage: Stage<'_>) -> Result<StageResult, BuildError> {
        let timing = RunTiming {
            terminate_grace: self.timing.terminate_grace,
            pipe_grace: self.timing.pipe_grace,
            timeout: None,
        };
        let (command, shell) = (stage.command, &self.shell);
        let next = self
            .requests
            .next(command, shell, stage.temp_dir, timing, stage.cancellation);
        let request = match next.await? {
            NextRequest::Ended(result) => return Ok(result),
            NextRequest::Open(request) => request,
        };
        let ran = self.run_to_end(&request, stage).await;
        self.requests.record_end(&request, ran.as_ref().ok());
        ran
    }

    async fn run_to_end(
        &self,
        request: &StageRequest,
        stage: Stage<'_>,
    ) -> Result<StageResult, BuildError> {
        let mut end = self.end.clone();
        let lost = async {
            let end = ended(&mut end).await;
            tokio::time::sleep(LATE).await;
            BuildError::from(end.error(&self.name)).given_up()
        };
        let Execs {
            engine, container, ..
        } = stage.container;
        let executing = async {
            loop {
                match request.follow(stage.trace, stage.cancellation).await {
                    // The agent of a paused container does not answer.
                    Err(StepsError::Lost { .. }) if is_paused(engine, container).await => {}
                    executed => return executed,
                }
                wait_until_unpaused(engine, container).await;
            }
        };
        let unpausing = async {
            stage.cancellation.canceled().await;
            unpause(engine, container).await;
            std::future::pending().await
        };
        let executed = tokio::select! {
            executed = executing => executed,
            lost = lost => return Err(lost),
            never = unpausing => never,
        };
        match executed {
            Ok(result) => Ok(result),
            // The agent stops its requests when its container is stopped.
            Err(StepsError::Canceled(_)) if !stage.cancellation.is_canceled() => {
                Err(self.stopped_from_outside(stage.cancellation).await)
            }
            Err(error) => Err(self.explain(error).await),
        }
    }

    /// Returns why a stage was stopped from outside of this process.
    async fn stopped_from_outside(&self, cancellation: &Cancellation) -> BuildError {
        let mut end = self.end.clone();
        let end = tokio::select! {
            end = timeout(PARTING, ended(&mut end)) => end.ok(),
            _ = cancellation.canceled() => None,
        };
        end.map_or(BuildError::Canceled(CancelCause::EnvironmentLost), |end| {
            end.error(&self.name).into()
        })
        .given_up()
    }

    /// Returns the loss of the container as the reason, if it is visible soon; else the error.
    async fn explain(&self, error: StepsError) -> BuildError {
        let mut end = self.end.clone();
        // A stop needs no other reason, and an agent that answers is not lost.
        let patience = match error {
            StepsError::Canceled(_) | StepsError::Refused { .. } | StepsError::TimedOut { .. } => {
                Duration::ZERO
            }
            _ => SOON,
        };
        let lost = timeout(patience, ended(&mut end)).await;
        let lost = lost.map(|end| BuildError::from(end.error(&self.name)));
        lost.unwrap_or_else(|_| error.into()).given_up()
    }
}
