//! The error of this crate, and its translation.

use crate::frame::{NotAFrame, TooLarge};
use crate::held::HeldKind;
use crate::message::{PROTOCOL, Refusal, RefusalKind};
use executor_core::{AcquireError, BuildError, HumanDuration, ProviderError, Retryability};
use process::ProcessError;
use std::sync::Arc;
use std::time::Duration;

/// The backend in the messages of [`BuildError`].
const BACKEND: &str = "driver";

/// The error of starting a driver or of a call.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum DriverError {
    /// The settings name no program.
    #[error(
        "no driver is configured: set `command` in `[driver]` of the settings, such as [\"python3\", \"/opt/drivers/host.py\"]"
    )]
    NoCommand,
    /// The program cannot be started.
    #[error("start the driver {program:?}")]
    Start {
        program: String,
        source: Arc<ProcessError>,
    },
    /// Processes or files of the driver remain.
    #[error("stop the driver")]
    Stop(#[source] Arc<ProcessError>),
    /// There is no driver process any more.
    #[error("the driver {end}{}", last_words(.error_output.as_deref()))]
    Ended {
        end: End,
        error_output: Option<String>,
    },
    /// The call took too long, although the driver lives.
    #[error("the driver did not answer {call:?} within {}", HumanDuration(*limit))]
    NoAnswer { call: &'static str, limit: Duration },
    /// The driver answered a call with an error.
    #[error("{call}: {}", refusal.message)]
    Refused {
        call: &'static str,
        refusal: Refusal,
    },
    /// The result of a call has another form.
    #[error("the driver answered {call:?} with something else than its result: {why}")]
    Answer { call: &'static str, why: String },
    /// The driver did not read the whole archive of a `put`, and so lost a part of it.
    #[error("the driver answered \"put\" before it had acknowledged the whole archive")]
    Unread,
    /// The driver speaks another version.
    #[error(
        "the driver {name:?} speaks version {theirs} of the protocol, and this program version {PROTOCOL}: \
         install versions of both that fit"
    )]
    Version { name: String, theirs: u32 },
    /// A message does not fit into a frame.
    #[error("the {} of the stage have {} bytes, and a driver takes at most {}", .0.what, .0.bytes, .0.most)]
    TooLarge(TooLarge),
    /// A script did not end although it was killed.
    #[error("the driver did not end a killed script within {}", HumanDuration(*.0))]
    Unkillable(Duration),
    /// What the job had was in a driver process that has ended.
    #[error("the driver process that served the job has ended, so its {0} is gone")]
    Gone(HeldKind),
}

/// Why a connection has ended.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum End {
    #[error("exited with code {0}")]
    Exited(u8),
    #[error("was ended by signal {0}")]
    Signaled(i32),
    #[error("cannot be awaited: {0}")]
    NotAwaited(Arc<ProcessError>),
    #[error(transparent)]
    NotAFrame(NotAFrame),
    #[error("answered the call {0}, which is not open")]
    UnknownCall(u32),
    #[error("sent more than 1 MiB for the call {0} without waiting for an acknowledgement")]
    Flood(u32),
    #[error("acknowledged more bytes for the call {0} than it was sent")]
    NotSent(u32),
    #[error("was silent for {} and was killed", HumanDuration(*.0))]
    Silent(Duration),
    #[error("read nothing from its standard input for {} and was killed", HumanDuration(*.0))]
    NotReading(Duration),
    #[error("closed its standard input, which belongs to the protocol, and was killed")]
    ClosedInput,
    #[error("closed its standard output, which belongs to the protocol, and was killed")]
    ClosedOutput,
    #[error("did not describe itself as expected, and was killed")]
    NotDescribed,
    #[error("was stopped")]
    Stopped,
}

fn last_words(error_output: Option<&str>) -> String {
    error_output.map_or_else(String::new, |text| {
        format!("; the end of its error output:\n{text}")
    })
}

impl DriverError {
    /// Returns whether the driver is gone, rather than one call wrong.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    /// Returns the kind of an error that the driver reported.
    pub(crate) fn refusal(&self) -> Option<RefusalKind> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.kind),
            _ => None,
        }
    }

    fn retry(&self) -> Retryability {
        match self {
            Self::Ended {
                end: End::Exited(_) | End::Signaled(_) | End::Silent(_) | End::NotReading(_),
                ..
            }
            | Self::NoAnswer { .. } => Retryability::Temporary,
            _ if self.refusal() == Some(RefusalKind::Temporary) => Retryability::Temporary,
            _ => Retryability::Permanent,
        }
    }

    fn is_config(&self) -> bool {
        match self {
            Self::Start { source, .. } => matches!(
                **source,
                ProcessError::NotFound { .. } | ProcessError::Unpassable { .. }
            ),
            Self::NoCommand | Self::Version { .. } | Self::TooLarge(_) => true,
            _ => self.refusal() == Some(RefusalKind::Config),
        }
    }
}

impl From<TooLarge> for DriverError {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}

impl From<DriverError> for BuildError {
    fn from(error: DriverError) -> Self {
        let message = error.to_string();
        let (is_config, retry) = (error.is_config(), error.retry());
        let source = match error {
            DriverError::Start { source, .. } | DriverError::Stop(source) => Some(source.into()),
            _ => None,
        };
        if is_config {
            return Self::Config { message, source };
        }
        Self::System {
            backend: BACKEND,
            message,
            source,
            retry,
        }
    }
}

impl From<DriverError> for AcquireError {
    fn from(error: DriverError) -> Self {
        match error.refusal() {
            Some(RefusalKind::NoCapacity) => Self::NoFreeExecutor,
            _ => Self::Provider(error.into()),
        }
    }
}

impl From<DriverError> for ProviderError {
    fn from(error: DriverError) -> Self {
        Self {
            message: error.to_string(),
            source: std::error::Error::source(&error).map(|it| it.to_string().into()),
        }
    }
}
