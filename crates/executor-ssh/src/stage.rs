//! Runs the stages of a job on its host.

use crate::error::SshError;
use crate::host::Host;
use crate::link::Link;
use crate::shell_stage;
use executor_core::ability::Resumable;
use executor_core::{
    BuildError, BuildStage, CancelCause, Cancellation, JobTrace, JobTraceExt, RunnerConfig,
    StageCommand, StageResult,
};
use process::TraceOutput;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use steps::{RecordedRun, RunId, RunRecord, RunSpec, RunTiming, StepsClient};

/// How stages are run.
#[derive(Debug)]
pub(crate) enum StageRunner {
    /// As requests to the agent.
    Agent(Box<AgentStages>),
    /// As shells that read their script from standard input.
    Shell,
}

/// A stage and what it needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stage<'s> {
    pub(crate) command: &'s StageCommand,
    pub(crate) temp_dir: &'s str,
    pub(crate) shell: &'s str,
    pub(crate) trace: &'s dyn JobTrace,
    pub(crate) timing: Timing,
}

/// The time limits at the end of a stage.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) terminate_grace: Duration,
    pub(crate) kill_deadline: Duration,
    /// How long another process may hold the output of an ended script.
    pub(crate) pipe_grace: Duration,
    pub(crate) idle_after: Duration,
}

impl Timing {
    pub(crate) fn of(config: &RunnerConfig) -> Self {
        Self {
            terminate_grace: config.graceful_kill_timeout,
            kill_deadline: config.force_kill_timeout,
            pipe_grace: Duration::from_secs(1),
            idle_after: Duration::from_millis(100),
        }
    }
}

/// The stages of a job as requests to its agent.
#[derive(Debug)]
pub(crate) struct AgentStages {
    client: StepsClient,
    record: RunRecord,
    /// How many requests each stage has made.
    counts: HashMap<BuildStage, u32>,
    /// The last request that ended; the agent keeps its result until it is recorded.
    ended: Option<RunId>,
}

impl AgentStages {
    pub(crate) fn new(client: StepsClient, record: RunRecord) -> Self {
        Self {
            client: client.with_kept_results(),
            record,
            counts: HashMap::new(),
            ended: None,
        }
    }

    pub(crate) fn resumable(&self) -> Arc<dyn Resumable> {
        Arc::new(self.record.clone())
    }

    async fn run(
        &mut self,
        host: &Host,
        stage: Stage<'_>,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        // The same id in each process that runs the same stages.
        let count = self.counts.entry(stage.command.stage.clone()).or_default();
        *count += 1;
        let id = format!("{}-{}-{count}", host.id(), stage.command.stage);
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
        let timing = RunTiming {
            terminate_grace: stage.timing.terminate_grace,
            pipe_grace: stage.timing.pipe_grace,
            timeout: None,
        };
        let run_id = RunId::new(&*id);
        let (record, own) = (self.record.clone(), id.clone());
        let run = RunSpec {
            progress: Some(Arc::new(move |offset| record.read(&own, offset))),
            ..RunSpec::stage(
                run_id.clone(),
                stage.command,
                stage.shell,
                stage.temp_dir,
                timing,
            )
        };
        let mut output = TraceOutput(stage.trace);
        let client = &self.client;
        let ran = match begun {
            None => client.execute(&run, &mut output, cancellation).await,
            Some(offset) => client.resume(&run, offset, &mut output, cancellation).await,
        };
        let result = match ran {
            Ok(result) => result,
            Err(error) => {
                self.record.ended(&id, None);
                return Err(BuildError::from(error).given_up());
            }
        };
        if let Some(error) = &result.log_error {
            stage.trace.warning_line(&format!(
                "the log is incomplete: {error}; later output of the job is lost"
            ));
        }
        let result = StageResult::from(result);
        self.record.ended(&id, Some(&result));
        self.ended = Some(run_id);
        Ok(result)
    }
}

impl StageRunner {
    /// Runs a stage to its end. A started script is never started again.
    pub(crate) async fn run(
        &mut self,
        link: &Arc<Link>,
        host: &Host,
        stage: Stage<'_>,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        match self {
            Self::Agent(agent) => agent.run(host, stage, cancellation).await,
            Self::Shell => {
                if stage.command.stage == BuildStage::StepRun {
                    return Err(SshError::config(
                        "`run` needs the agent, which does not run on this host",
                    )
                    .into());
                }
                let ran = shell_stage::run(link, host, stage, cancellation).await;
                ran.map_err(BuildError::given_up)
            }
        }
    }
}
