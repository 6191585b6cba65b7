//! The meaning of the end of a driver's program.

use crate::config::Phase;
use crate::error::CustomError;
use executor_core::HumanDuration;
use process::{Ended, ExitStatus, Outcome};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The code of a driver whose job is at fault.
pub(crate) const BUILD_FAILURE: u8 = 1;
/// The code of a driver that failed itself.
pub(crate) const SYSTEM_FAILURE: u8 = 2;

/// The longest number that is read from the file with the exit code.
const LONGEST_NUMBER: u64 = 64;

/// The end of a program that did not fail itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It succeeded.
    Success,
    /// The job is at fault; the exit code of its script, which can be 0.
    BuildFailure(i32),
}

/// Returns the verdict of a program that ended by itself or after its timeout.
///
/// # Errors
///
/// When the driver failed, or ended in a way that has no meaning.
pub(crate) fn judge(
    phase: Phase,
    outcome: &Outcome,
    timeout: Option<std::time::Duration>,
    exit_code_file: &Path,
) -> Result<Verdict, CustomError> {
    let late = match (outcome.ended, timeout) {
        (Ended::Stopped { .. }, Some(limit)) => format!(
            " after {}, the limit of {}_timeout",
            HumanDuration(limit),
            phase.key()
        ),
        _ => String::new(),
    };
    let failed = |end: String| CustomError::Failed { phase, end };
    match outcome.status {
        ExitStatus::Exited(0) if late.is_empty() => Ok(Verdict::Success),
        ExitStatus::Exited(0) => Err(failed(format!("was stopped{late}"))),
        ExitStatus::Exited(BUILD_FAILURE) => {
            Ok(Verdict::BuildFailure(script_code(phase, exit_code_file)?))
        }
        ExitStatus::Exited(SYSTEM_FAILURE) => {
            Err(failed(format!("reports a system failure{late}")))
        }
        status => Err(failed(format!(
            "ended with {status}{late}: expected 0, BUILD_FAILURE_EXIT_CODE ({BUILD_FAILURE}) or \
             SYSTEM_FAILURE_EXIT_CODE ({SYSTEM_FAILURE})"
        ))),
    }
}

/// Reads the exit code of a failed script: the first line of the driver's file, or 1 without a file.
fn script_code(phase: Phase, file: &Path) -> Result<i32, CustomError> {
    let line = match first_line(file) {
        Ok(line) => line,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BUILD_FAILURE.into()),
        Err(source) => return Err(CustomError::file("read", file, source)),
    };
    line.parse().map_err(|_| CustomError::Failed {
        phase,
        end: format!("wrote {line:?} to BUILD_EXIT_CODE_FILE: expected a whole number"),
    })
}

fn first_line(path: &Path) -> io::Result<String> {
    // Reading from a pipe would wait.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LONGEST_NUMBER)
        .read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.split('\n').next().unwrap_or_default().to_owned())
}
