//! Runs the stages of a job on its host.

use crate::error::SshError;
use crate::host::Host;
use crate::link::Link;
use crate::shell_stage;
use executor_core::{
    BuildError, BuildStage, Cancellation, JobTrace, JobTraceExt, RunnerConfig, StageCommand,
    StageResult,
};
use std::sync::Arc;
use std::time::Duration;
use steps::{NextRequest, RunTiming, StageRequests, StepsError};

/// How stages are run.
#[derive(Debug)]
pub(crate) enum StageRunner {
    /// As requests to the agent.
    Agent(StageRequests),
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

async fn run_by_agent(
    requests: &mut StageRequests,
    stage: Stage<'_>,
    cancellation: &Cancellation,
) -> Result<StageResult, BuildError> {
    let timing = RunTiming {
        terminate_grace: stage.timing.terminate_grace,
        pipe_grace: stage.timing.pipe_grace,
        timeout: None,
    };
    let (command, shell) = (stage.command, stage.shell);
    let next = requests.next(command, shell, stage.temp_dir, timing, cancellation);
    let request = match next.await? {
        NextRequest::Ended(result) => return Ok(result),
        NextRequest::Open(request) => request,
    };
    let ran = request.follow(stage.trace, cancellation).await;
    requests.record_end(&request, ran.as_ref().ok());
    if let Err(StepsError::Lost { source, .. }) = &ran {
        let why = executor_core::chain(&**source);
        stage
            .trace
            .warning_line(&format!("the job cannot go on: {why}"));
    }
    ran.map_err(|error| BuildError::from(error).given_up())
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
            Self::Agent(requests) => run_by_agent(requests, stage, cancellation).await,
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
