//! Failures of a driver, and the exit codes that report them.

use crate::remote::Ended;
use std::any::Any;
use std::fmt::Display;
use std::fs;
use std::path::Path;

/// Why a stage failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The infrastructure failed. A runner retries `prepare` after it.
    #[error("{0}")]
    System(String),
    /// The infrastructure failed, and will again, as with a wrong token. A runner of the typed driver protocol does not retry; that of custom
    /// executors has the same exit code for both, `SYSTEM_FAILURE_EXIT_CODE`, and retries `prepare`.
    #[error("{0}")]
    Permanent(String),
    /// The job asks for something that it cannot have, as an image that is not allowed. A retry does not help.
    #[error("{0}")]
    Job(String),
    /// The runner asked the stage to stop.
    #[error("stopped by the runner")]
    Stopped,
}

impl Failure {
    /// Returns a failure of the infrastructure.
    pub fn system(message: impl Display) -> Self {
        Self::System(message.to_string())
    }

    /// Returns a failure of the infrastructure that a retry does not help.
    pub fn permanent(message: impl Display) -> Self {
        Self::Permanent(message.to_string())
    }

    /// Returns a failure that the job has caused.
    pub fn job(message: impl Display) -> Self {
        Self::Job(message.to_string())
    }

    /// Puts the attempted action in front of the message.
    pub fn during(self, action: impl Display) -> Self {
        match self {
            Self::System(message) => Self::System(format!("{action}: {message}")),
            Self::Permanent(message) => Self::Permanent(format!("{action}: {message}")),
            Self::Job(message) => Self::Job(format!("{action}: {message}")),
            Self::Stopped => Self::Stopped,
        }
    }

    /// Returns the failure of a caught panic.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let literal = panic.downcast_ref::<&str>().copied();
        let message = literal.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let message = message.unwrap_or("without a message");
        Self::system(format!(
            "the driver panicked, which is an error in it: {message}"
        ))
    }
}

/// The exit codes that a runner of the custom-executor protocol expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCodes {
    /// `BUILD_FAILURE_EXIT_CODE`: the job failed.
    pub build_failure: u8,
    /// `SYSTEM_FAILURE_EXIT_CODE`: the infrastructure failed.
    pub system_failure: u8,
}

impl ExitCodes {
    /// Reads the codes from the environment; without them, they are 1 and 2.
    pub fn from_env() -> Self {
        let read = |name: &str, default| {
            let value = std::env::var(name).ok();
            value
                .and_then(|value| value.parse().ok())
                .unwrap_or(default)
        };
        Self {
            build_failure: read("BUILD_FAILURE_EXIT_CODE", 1),
            system_failure: read("SYSTEM_FAILURE_EXIT_CODE", 2),
        }
    }

    /// Returns the code for the result of a stage, and writes the exit code of a script to `exit_code_file`
    /// (`BUILD_EXIT_CODE_FILE`).
    ///
    /// A script that was ended by a signal has the code that a shell gives it, 128 and the number.
    ///
    /// # Errors
    ///
    /// When the file cannot be written: the runner would report another exit code.
    pub fn report(
        &self,
        result: &Result<Ended, Failure>,
        exit_code_file: Option<&Path>,
    ) -> Result<u8, Failure> {
        let code = match result {
            Ok(Ended::Exited(0)) => return Ok(0),
            Ok(Ended::Exited(code)) => *code,
            Ok(Ended::Signaled(signal)) => 128 + signal,
            Err(Failure::Job(_)) => return Ok(self.build_failure),
            Err(Failure::System(_) | Failure::Permanent(_) | Failure::Stopped) => {
                return Ok(self.system_failure);
            }
        };
        if let Some(file) = exit_code_file {
            fs::write(file, code.to_string()).map_err(|error| {
                Failure::system(format!(
                    "write the exit code {code} to {}: {error}",
                    file.display()
                ))
            })?;
        }
        Ok(self.build_failure)
    }
}
