//! What the process ends with.

use std::process::ExitCode;

/// The exit codes of `runwright`, for all its commands.
pub use scheduler::RunExit as Exit;

/// Returns the code as the system wants it.
pub(crate) fn exit_code(exit: Exit) -> ExitCode {
    ExitCode::from(exit.code())
}
