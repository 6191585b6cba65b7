//! The stages of a job as requests to its agent, each started once, also if another process continues the job.

use crate::client::run_record::{RecordedRun, RunRecord};
use crate::client::{RunId, RunSpec, RunTiming, StepsClient, StepsError};
use executor_core::{
    BuildError, BuildStage, CancelCause, Cancellation, JobTrace, JobTraceExt, StageCommand,
    StageResult,
};
use process::TraceOutput;
use std::collections::HashMap;
use std::sync::Arc;

/// Turns the stages of a job into requests to its agent, and records them.
///
/// A process that continues the job makes the same requests. It follows one that was begun, and has the recorded
/// result of one that has ended.
#[derive(Debug)]
pub struct StageRequests {
    client: StepsClient,
    record: RunRecord,
    /// The start of each id.
    prefix: String,
    counts: HashMap<BuildStage, u32>,
}

/// The next request of a stage.
#[derive(Debug)]
pub enum NextRequest {
    /// An earlier process has recorded its result.
    Ended(StageResult),
    /// It is to be followed to its end.
    Open(Box<StageRequest>),
}

/// A request whose end is not recorded yet.
#[derive(Debug)]
pub struct StageRequest {
    client: StepsClient,
    record: RunRecord,
    run: RunSpec,
}

impl StageRequests {
    /// Returns the requests of a job in the environment of `record`.
    ///
    /// `prefix` begins their ids. It is the same in each process that continues the job.
    pub fn new(client: StepsClient, record: RunRecord, prefix: &str) -> Self {
        Self {
            client: client.with_kept_results(),
            record,
            prefix: prefix.to_owned(),
            counts: HashMap::new(),
        }
    }

    /// Returns the record from which another process continues.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Returns the next request of a stage. The agent removes the previous one, whose result is recorded by now.
    ///
    /// # Errors
    ///
    /// [`CancelCause::EnvironmentLost`] if it is recorded as ended without a result: a script never starts twice.
    ///
    /// # Cancellation
    ///
    /// As [`StepsClient::release_kept`].
    pub async fn next(
        &mut self,
        command: &StageCommand,
        shell: &str,
        temp_dir: &str,
        timing: RunTiming,
        cancellation: &Cancellation,
    ) -> Result<NextRequest, BuildError> {
        let stage = &command.stage;
        let count = self.counts.entry(stage.clone()).or_default();
        *count += 1;
        let id = format!("{}-{stage}-{count}", self.prefix);
        match self.record.state(&id) {
            RecordedRun::Ended(result) => return Ok(NextRequest::Ended(*result)),
            RecordedRun::Lost => return Err(BuildError::Canceled(CancelCause::EnvironmentLost)),
            RecordedRun::Begun(_) => {}
            RecordedRun::New => self.record.starting(&id),
        }
        self.client.release_kept(cancellation).await;
        let mut run = RunSpec::stage(RunId::new(&*id), command, shell, temp_dir, timing);
        let record = self.record.clone();
        run.progress = Some(Arc::new(move |offset| record.read(&id, offset)));
        Ok(NextRequest::Open(Box::new(StageRequest {
            client: self.client.clone(),
            record: self.record.clone(),
            run,
        })))
    }

    /// Records the end of a request; `None` if its result is unknown.
    pub fn record_end(&self, request: &StageRequest, result: Option<&StageResult>) {
        self.record.ended(request.run.id.as_str(), result);
    }
}

impl StageRequest {
    /// Starts the request unless it was begun, and passes its output to the log from where it was read last.
    ///
    /// It may be repeated after [`StepsError::Lost`].
    ///
    /// # Errors
    ///
    /// As [`StepsClient::resume`].
    ///
    /// # Cancellation
    ///
    /// As [`StepsClient::execute`].
    pub async fn follow(
        &self,
        trace: &dyn JobTrace,
        cancellation: &Cancellation,
    ) -> Result<StageResult, StepsError> {
        let (client, run) = (&self.client, &self.run);
        let mut output = TraceOutput(trace);
        let result = match self.record.state(run.id.as_str()) {
            RecordedRun::Begun(offset) => {
                client.resume(run, offset, &mut output, cancellation).await
            }
            _ => client.execute(run, &mut output, cancellation).await,
        }?;
        if let Some(error) = &result.log_error {
            trace.warning_line(&format!(
                "the log is incomplete: {error}; later output of the job is lost"
            ));
        }
        Ok(result.into())
    }
}
