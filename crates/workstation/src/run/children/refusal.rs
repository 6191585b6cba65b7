use executor_core::{BuildError, FailureReason, JobObserver, TraceStream};

/// Why a pipeline is not started: the reason in GitLab's words, what is wrong, and what can be done.
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

    /// Says what the user can do.
    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Tells what can be done in the log of the job, and returns why it fails.
    pub(super) fn tell(self, observer: &dyn JobObserver) -> BuildError {
        if let Some(help) = &self.help {
            warn(observer, &format!("{}\nhelp: {help}", self.message));
        }
        BuildError::Downstream {
            reason: self.reason,
            message: self.message,
        }
    }
}

/// Writes to the log of a job what its author should read.
pub(super) fn warn(observer: &dyn JobObserver, text: &str) {
    write(observer, TraceStream::STDERR, text);
}

/// Writes to the log of a job what goes on.
pub(super) fn say(observer: &dyn JobObserver, text: &str) {
    write(observer, TraceStream::SYSTEM, text);
}

fn write(observer: &dyn JobObserver, stream: TraceStream, text: &str) {
    let text = text.trim_end_matches('\n');
    observer.output(stream, format!("{text}\n").as_bytes());
}
