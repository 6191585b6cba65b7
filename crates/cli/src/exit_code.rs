//! Exit codes of the process.

use std::process::ExitCode;

/// The exit codes of `runwright`, for all its commands.
pub use scheduler::RunExit as Exit;

/// Converts the code to that of the standard library.
pub(crate) fn exit_code(exit: Exit) -> ExitCode {
    ExitCode::from(exit.code())
}
