//! The error of this crate, and its translation.

use crate::config::Phase;
use executor_core::{BoxError, BuildError, Retryability};
use process::ProcessError;
use std::io;
use std::path::{Path, PathBuf};

/// The backend in the messages of [`BuildError`].
pub(crate) const BACKEND: &str = "custom";

/// The error of preparing, running or cleaning up a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CustomError {
    /// No driver is set.
    #[error("run_exec is not set: the custom executor needs the program that runs a stage")]
    NoDriver,
    /// No directory for builds is set.
    #[error(
        "builds_dir is not set: set it for the runner, or let config_exec print it as `builds_dir`"
    )]
    NoBuildsDir,
    /// The job has steps for a step-runner.
    #[error("a driver cannot run functions (`run`); use `script`")]
    Functions,
    /// The driver failed, or ended in a way that has no meaning.
    #[error("{} {end}", phase.key())]
    Failed { phase: Phase, end: String },
    /// The output of `config_exec` is invalid.
    #[error("config_exec printed invalid output: {problem}{}", quote(.output))]
    ConfigOutput {
        problem: String,
        /// The output; empty if it says no more than the problem.
        output: String,
    },
    /// A file of the driver's directory cannot be written or read.
    #[error("{action} {}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A script cannot be written.
    #[error("write the script of {stage}")]
    Script {
        stage: String,
        source: shells::ScriptError,
    },
    /// The variables do not fit into the process environment.
    #[error(
        "the job's variables are too large for the environment of {}; the largest is {key} with {bytes} bytes",
        phase.key()
    )]
    EnvironmentTooLarge {
        phase: Phase,
        key: String,
        bytes: usize,
    },
    /// A program of the driver cannot be started.
    #[error("start {} {program:?}", phase.key())]
    Start {
        phase: Phase,
        program: String,
        source: ProcessError,
    },
    /// A process could not be awaited or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

impl CustomError {
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File {
            action,
            path: path.to_owned(),
            source,
        }
    }

    fn retry(&self) -> Retryability {
        match self {
            Self::Start {
                source: ProcessError::NotFound { .. } | ProcessError::WorkingDirectory { .. },
                ..
            }
            | Self::Process(
                ProcessError::Containment { .. }
                | ProcessError::Unkillable { .. }
                | ProcessError::Survivors { .. },
            ) => Retryability::Permanent,
            Self::Start {
                source: ProcessError::Spawn { source, .. },
                ..
            } if is_no_program(source) => Retryability::Permanent,
            _ => Retryability::Temporary,
        }
    }
}

/// Returns whether the file cannot be executed, now or later.
fn is_no_program(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
    let is_known = matches!(
        error.kind(),
        NotFound | PermissionDenied | NotADirectory | IsADirectory
    );
    is_known || error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

/// Quotes the beginning of a driver's output.
fn quote(output: &str) -> String {
    const LONGEST: usize = 200;
    let output = output.trim();
    match output.char_indices().nth(LONGEST) {
        _ if output.is_empty() => String::new(),
        Some((end, _)) => format!("; it begins with {:?}", &output[..end]),
        None => format!("; it is {output:?}"),
    }
}

impl From<CustomError> for BuildError {
    fn from(error: CustomError) -> Self {
        let (message, retry) = (error.to_string(), error.retry());
        let source: Option<BoxError> = match error {
            CustomError::NoDriver
            | CustomError::NoBuildsDir
            | CustomError::Functions
            | CustomError::EnvironmentTooLarge { .. } => return Self::config(message),
            CustomError::Script { source, .. } => {
                return Self::Config {
                    message,
                    source: Some(source.into()),
                };
            }
            CustomError::Failed { .. } | CustomError::ConfigOutput { .. } => None,
            CustomError::File { source, .. } => Some(source.into()),
            CustomError::Start { source, .. } => Some(source.into()),
            CustomError::Process(error) => std::error::Error::source(&error)
                .map(ToString::to_string)
                .map(Into::into),
        };
        Self::System {
            backend: BACKEND,
            message,
            source,
            retry,
        }
    }
}
