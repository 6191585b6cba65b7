use executor_core::variable::without_secrets;
use executor_core::{BuildError, FailureReason, TraceStream};
use scheduler::Bridge;
use std::error::Error;

/// Why a pipeline is not started: GitLab's reason, a message, and help for the user.
#[derive(Debug)]
pub(super) struct Refusal {
    reason: FailureReason,
    message: String,
    help: Option<String>,
}

impl Refusal {
    pub(super) fn new(reason: FailureReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            help: None,
        }
    }

    /// Returns the refusal of a pipeline that could not be created.
    pub(super) fn not_created(message: impl Into<String>) -> Self {
        Self::new(FailureReason::DownstreamPipelineCreationFailed, message)
    }

    /// Returns the refusal because of an error of this machine.
    pub(super) fn failure(error: &(dyn Error + 'static)) -> Self {
        let chain = executor_core::chain(error);
        Self::new(FailureReason::RunnerSystemFailure, chain)
    }

    /// Adds what the user can do.
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Writes the help to the log of the job, and returns the job's error.
    pub(super) fn into_error(self, bridge: &Bridge) -> BuildError {
        if let Some(help) = &self.help {
            warn(bridge, &format!("{}\nhelp: {help}", self.message));
        }
        BuildError::Downstream {
            reason: self.reason,
            message: without_secrets(&self.message, &bridge.job.variables),
        }
    }
}

/// Writes a warning to the log of a job.
pub(super) fn warn(bridge: &Bridge, text: &str) {
    write(bridge, TraceStream::STDERR, text);
}

/// Writes a note to the log of a job.
pub(super) fn note(bridge: &Bridge, text: &str) {
    write(bridge, TraceStream::SYSTEM, text);
}

/// Writes to the log of a job, which masks nothing by itself.
fn write(bridge: &Bridge, stream: TraceStream, text: &str) {
    let text = without_secrets(text, &bridge.job.variables);
    let text = text.trim_end_matches('\n');
    bridge
        .observer
        .output(stream, format!("{text}\n").as_bytes());
}
