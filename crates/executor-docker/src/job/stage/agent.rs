//! Runs a stage as a request to the agent, the container's main process.

use crate::job::container::ended;
use crate::job::container::execs::Execs;
use crate::job::container::watch::{ContainerEnd, is_paused, unpause, wait_until_unpaused};
use crate::job::stage::stage_run::{SOON, Stage, Timing};
use executor_core::{BuildError, BuildStage, CancelCause, Cancellation, JobTraceExt, StageResult};
use process::TraceOutput;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use steps::{Progress, RecordedRun, RunId, RunRecord, RunSpec, RunTiming, StepsClient, StepsError};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long output of the agent may still arrive after the end of its container.
const LATE: Duration = Duration::from_millis(500);

/// How long after its agent a stopped container may end: `docker stop` waits 10 s.
const PARTING: Duration = Duration::from_secs(15);

/// Runs stages through one agent.
#[derive(Debug)]
pub(crate) struct AgentRunner {
    pub(crate) client: StepsClient,
    /// The prefix of request ids.
    pub(crate) prefix: String,
    /// The number of requests for each stage.
    pub(crate) counts: HashMap<BuildStage, u32>,
    /// The record of all requests, including those of an earlier process.
    pub(crate) record: RunRecord,
    /// The last request. The agent keeps its result until the next stage: by then the caller has recorded it, and
    /// another process does not depend on the agent for it.
    pub(crate) ended: Option<RunId>,
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
        let id = self.next_id(&stage.command.stage);
        let begun = match self.record.state(&id) {
            RecordedRun::Ended(result) => return Ok(*result),
            RecordedRun::Lost => return Err(BuildError::Canceled(CancelCause::EnvironmentLost)),
            RecordedRun::Begun(offset) => Some(offset),
            RecordedRun::New => {
                self.record.starting(&id);
                None
            }
        };
        if let Some(ended) = self.ended.take() {
            self.client.release(&ended).await;
        }
        let cancellation = stage.cancellation.clone();
        let ran = self.run_to_end(&id, begun, stage).await;
        if ran.is_ok() || cancellation.is_canceled() {
            self.ended = Some(RunId::new(id.as_str()));
        }
        self.record.ended(&id, ran.as_ref().ok());
        ran
    }

    /// Returns the id of the next request of a stage, the same in each process that runs the same stages.
    fn next_id(&mut self, stage: &BuildStage) -> String {
        let count = self.counts.entry(stage.clone()).or_default();
        *count += 1;
        format!("{}-{stage}-{count}", self.prefix)
    }

    async fn run_to_end(
        &self,
        id: &str,
        begun: Option<u64>,
        stage: Stage<'_>,
    ) -> Result<StageResult, BuildError> {
        let run = self.request(id, &stage);
        let mut output = TraceOutput(stage.trace);
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
            let mut begun = begun;
            loop {
                let executed = match begun {
                    None => {
                        self.client
                            .execute(&run, &mut output, stage.cancellation)
                            .await
                    }
                    Some(offset) => {
                        self.client
                            .resume(&run, offset, &mut output, stage.cancellation)
                            .await
                    }
                };
                // The agent of a paused container does not answer.
                match executed {
                    Err(StepsError::Lost { .. }) if is_paused(engine, container).await => {}
                    executed => return executed,
                }
                wait_until_unpaused(engine, container).await;
                begun = match self.record.state(id) {
                    RecordedRun::Begun(offset) => Some(offset),
                    // A request that is sent again is started once.
                    _ => None,
                };
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
        let result = match executed {
            Ok(result) => result,
            // The agent stops its requests when its container is stopped.
            Err(StepsError::Canceled(_)) if !stage.cancellation.is_canceled() => {
                return Err(self.stopped_from_outside(stage.cancellation).await);
            }
            Err(error) => return Err(self.explain(error).await),
        };
        if let Some(error) = &result.log_error {
            stage.trace.warning_line(&format!(
                "the log is incomplete: {error}; later output of the job is lost"
            ));
        }
        Ok(result.into())
    }

    fn request(&self, id: &str, stage: &Stage<'_>) -> RunSpec {
        let command = stage.command;
        let (record, own) = (self.record.clone(), id.to_owned());
        let progress: Progress = Arc::new(move |offset| record.read(&own, offset));
        let timing = RunTiming {
            terminate_grace: self.timing.terminate_grace,
            pipe_grace: self.timing.pipe_grace,
            timeout: None,
        };
        RunSpec {
            progress: Some(progress),
            ..RunSpec::stage(RunId::new(id), command, &self.shell, stage.temp_dir, timing)
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
