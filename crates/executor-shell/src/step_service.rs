//! The step-runner service of a job on this host, for jobs with `run`.

use crate::error::ShellError;
use crate::host::Host;
use executor_core::trace::JobTraceExt;
use executor_core::{BuildError, StageCommand, StageIo, StageResult};
use process::{Supervisor, Timing, TraceOutput};
use std::path::Path;
use std::sync::Arc;
use steps::{
    ClientOptions, JobCredentials, LocalService, RunId, RunSpec, RunSteps, RunTiming,
    ServiceOptions, StepsClient,
};

/// The service's directory in the job's private one.
const DIRECTORY: &str = ".steps";

/// The service of one job, and its client.
#[derive(Debug)]
pub(crate) struct StepService {
    service: Arc<LocalService>,
    client: StepsClient,
    runs: u32,
}

impl StepService {
    /// Starts the service in the job's private directory.
    pub(crate) fn start(
        host: &Host,
        supervisor: Supervisor,
        temp_dir: &Path,
    ) -> Result<Self, ShellError> {
        let options = ServiceOptions::new(temp_dir.join(DIRECTORY));
        let environment = host.environment.variables().to_vec();
        let service = Arc::new(LocalService::start(options, supervisor, environment)?);
        let connector = Arc::clone(&service);
        let mut client = StepsClient::new(connector, ClientOptions::default());
        if let Some(library) = &host.config.library {
            client = client.with_library(Arc::clone(library), JobCredentials::default());
        }
        Ok(Self {
            service,
            client,
            runs: 0,
        })
    }

    /// Runs the steps of a stage.
    pub(crate) async fn run(
        &mut self,
        command: &StageCommand,
        temp_dir: &Path,
        timing: Timing,
        io: StageIo<'_>,
    ) -> Result<StageResult, BuildError> {
        self.runs += 1;
        let run = RunSpec {
            id: RunId::new(format!("{}-{}", command.stage, self.runs)),
            steps: RunSteps::Language(command.script.clone()),
            shell: Vec::new(),
            variables: Arc::clone(&command.variables),
            // The job's log masks secrets.
            masked: Vec::new(),
            working_dir: command.working_dir.clone(),
            temp_dir: temp_dir.display().to_string(),
            timing: RunTiming {
                terminate_grace: timing.terminate_grace,
                pipe_grace: timing.pipe_grace,
                timeout: None,
            },
            progress: None,
            reports: None,
        };
        let mut output = TraceOutput(io.trace);
        let executed = self.client.execute(&run, &mut output, io.cancellation);
        let result = executed.await?;
        if let Some(error) = &result.log_error {
            io.trace.warning_line(&format!(
                "the log is not complete: {error}; what the job wrote afterwards is lost"
            ));
        }
        Ok(result.into())
    }

    /// Kills all processes and removes all files.
    pub(crate) async fn close(self) -> Result<(), ShellError> {
        Ok(self.service.close().await?)
    }
}
