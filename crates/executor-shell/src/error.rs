//! The error of this crate, and its translation.

use executor_core::{BoxError, BuildError, Retryability};
use process::ProcessError;
use std::io;
use std::path::PathBuf;

/// The backend in the messages of [`BuildError`].
const BACKEND: &str = "shell";

/// The error of preparing, running or cleaning up a job.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShellError {
    /// The shell does not exist.
    #[error("shell {shell:?} not found in PATH; install it, or choose another with `shell`")]
    NoShell { shell: String },
    /// A directory cannot be created or written to.
    #[error("use {what} {}", path.display())]
    Directory {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file of a stage cannot be written or removed.
    #[error("{action} {}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The name of a file variable is not a file name.
    #[error("file variable {key:?} cannot name a file")]
    FileVariable { key: String },
    /// The variables do not fit into the process environment.
    #[error(
        "the variables are too large for a process environment; the largest is {key} with {bytes} bytes: \
         make it a file variable"
    )]
    EnvironmentTooLarge { key: String, bytes: usize },
    /// A process could not be started or ended.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The service for steps could not be started, or did not end as expected.
    #[cfg(feature = "functions")]
    #[error("run the step-runner service")]
    Steps(#[from] steps::ServiceError),
    /// A terminal could not be opened.
    #[error("{action} a terminal")]
    Terminal {
        action: &'static str,
        source: io::Error,
    },
}

impl From<ShellError> for BuildError {
    fn from(error: ShellError) -> Self {
        let message = error.to_string();
        match error {
            ShellError::NoShell { .. }
            | ShellError::FileVariable { .. }
            | ShellError::EnvironmentTooLarge { .. } => Self::config(message),
            ShellError::Directory { source, .. } if is_a_setting_of(&source) => Self::Config {
                message,
                source: Some(source.into()),
            },
            ShellError::Directory { source, .. }
            | ShellError::File { source, .. }
            | ShellError::Terminal { source, .. } => Self::system(BACKEND, message, source),
            ShellError::Process(error) => from_process(message, error),
            #[cfg(feature = "functions")]
            ShellError::Steps(source) => Self::system(BACKEND, message, source),
        }
    }
}

/// Returns whether the path itself is wrong, so that a retry does not help.
fn is_a_setting_of(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotADirectory
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::InvalidFilename
    )
}

fn from_process(message: String, error: ProcessError) -> BuildError {
    let retry = match &error {
        ProcessError::NotFound { .. }
        | ProcessError::Unpassable { .. }
        | ProcessError::Unrecordable { .. } => {
            return BuildError::config(message);
        }
        // The tree of the job is gone, or its processes cannot be ended: a retry does not help.
        ProcessError::WorkingDirectory { .. }
        | ProcessError::Containment { .. }
        | ProcessError::Unkillable { .. }
        | ProcessError::Survivors { .. } => Retryability::Permanent,
        _ => Retryability::Temporary,
    };
    BuildError::System {
        backend: BACKEND,
        message,
        source: source_of(error),
        retry,
    }
}

/// Returns the source of an error whose own message is already used.
fn source_of(error: ProcessError) -> Option<BoxError> {
    match error {
        ProcessError::WorkingDirectory { source, .. }
        | ProcessError::Spawn { source, .. }
        | ProcessError::Wait { source, .. }
        | ProcessError::Journal { source, .. } => Some(source.into()),
        ProcessError::Containment { source, .. } => source.map(Into::into),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(error: ShellError, config: bool, temporary: bool, chain: &str) {
        let error = BuildError::from(error);
        assert_eq!(
            matches!(error, BuildError::Config { .. }),
            config,
            "{error:?}"
        );
        assert_eq!(error.is_temporary(), temporary, "{error:?}");
        assert_eq!(error.chain(), chain);
    }

    #[test]
    fn configuration_errors_are_permanent() {
        let directory = |kind| ShellError::Directory {
            what: "builds directory",
            path: "/b".into(),
            source: io::Error::from(kind),
        };
        let read_only = directory(io::ErrorKind::ReadOnlyFilesystem);
        check(
            read_only,
            true,
            false,
            "use builds directory /b: read-only filesystem or storage medium",
        );
        let full = directory(io::ErrorKind::StorageFull);
        check(
            full,
            false,
            true,
            "shell: use builds directory /b: no storage space",
        );
    }

    #[test]
    fn temporary_spawn_errors_are_retried() {
        let source = io::Error::from(io::ErrorKind::WouldBlock);
        let spawn = ProcessError::Spawn {
            program: "bash".to_owned(),
            source,
        };
        check(
            spawn.into(),
            false,
            true,
            "shell: start \"bash\": operation would block",
        );
        let gone = ProcessError::WorkingDirectory {
            path: "/p".into(),
            source: io::ErrorKind::NotFound.into(),
        };
        check(
            gone.into(),
            false,
            false,
            "shell: enter working directory /p: entity not found",
        );
    }
}
