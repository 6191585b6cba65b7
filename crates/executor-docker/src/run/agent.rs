//! A stage as a request to the agent that is the container's main process.

use crate::container::ended;
use crate::container::watch::ContainerEnd;
use crate::run::{Stage, Timing};
use executor_core::{BuildError, JobTraceExt, StageResult};
use process::TraceOutput;
use std::time::Duration;
use steps::{RunId, RunSpec, RunTiming, ScriptStep, StepsClient};
use tokio::sync::watch;

/// How long what the agent had said may still come when its container has ended.
const LATE: Duration = Duration::from_millis(500);

/// Runs stages through one agent.
#[derive(Debug)]
pub(crate) struct AgentEngine {
    pub(crate) client: StepsClient,
    /// What the ids of requests begin with.
    pub(crate) prefix: String,
    /// How many requests there were.
    pub(crate) number: u64,
    /// The container's name.
    pub(crate) name: String,
    pub(crate) end: watch::Receiver<Option<ContainerEnd>>,
    pub(crate) shell: String,
    pub(crate) timing: Timing,
}

impl AgentEngine {
    /// Runs a stage to its end.
    pub(crate) async fn run(&mut self, stage: Stage<'_>) -> Result<StageResult, BuildError> {
        self.number += 1;
        let command = stage.command;
        let run = RunSpec {
            id: RunId::new(format!("{}-{}", self.prefix, self.number)),
            steps: vec![ScriptStep {
                name: command.stage.to_string(),
                script: command.script.clone(),
            }],
            shell: vec![self.shell.clone()],
            variables: command.variables.clone(),
            // The job's log masks, which knows all secrets and not these alone.
            masked: Vec::new(),
            working_dir: command.working_dir.clone(),
            temp_dir: stage.temp_dir.to_owned(),
            timing: RunTiming {
                terminate_grace: self.timing.terminate_grace,
                pipe_grace: self.timing.pipe_grace,
                timeout: None,
            },
            progress: None,
        };
        let mut output = TraceOutput(stage.trace);
        let mut end = self.end.clone();
        let lost = async {
            let end = ended(&mut end).await;
            tokio::time::sleep(LATE).await;
            BuildError::from(end.error(&self.name)).given_up()
        };
        let executing = self.client.execute(&run, &mut output, stage.cancellation);
        let executed = tokio::select! {
            executed = executing => executed,
            lost = lost => return Err(lost),
        };
        match executed {
            Ok(result) => {
                if let Some(error) = &result.log_error {
                    stage.trace.warning_line(&format!(
                        "the log is not complete: {error}; what the job wrote afterwards is lost"
                    ));
                }
                Ok(result.into())
            }
            Err(error) => {
                // Where the container is lost, that is why.
                let lost = self.end.borrow().as_ref().map(|end| end.error(&self.name));
                Err(lost
                    .map_or_else(|| error.into(), BuildError::from)
                    .given_up())
            }
        }
    }
}
