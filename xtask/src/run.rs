//! Runs other programs.

use std::env;
use std::ffi::OsString;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::stop::{self, Running};

/// Returns the cargo that runs xtask, so that a selected toolchain stays in use.
pub(crate) fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    // CI may provide no stdin; nothing here reads it.
    command.stdin(Stdio::null());
    command
}

/// Runs a command and waits for it.
///
/// # Errors
///
/// Fails when the program cannot be started or is unsuccessful.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    let started = command.spawn();
    let mut child = started.with_context(|| format!("start `{shown}`"))?;
    let running = Running::new(child.id());
    let ended = child.wait();
    drop(running);
    let status = ended.with_context(|| format!("wait for `{shown}`"))?;
    stop::check().with_context(|| format!("`{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed, {status}");
    }
    Ok(())
}

/// Returns the command as a user would type it.
fn show(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
    let mut words = vec![name];
    words.extend(
        command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_program_is_named_with_its_arguments() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c exit 3` failed, exit status: 3");
    }

    #[test]
    fn successful_program_is_ok() {
        run(Command::new("sh").args(["-c", "exit 0"])).unwrap();
    }

    #[test]
    fn missing_program_is_named() {
        let error = run(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(
            error.to_string().contains("no-such-program-here"),
            "{error:#}"
        );
    }
}
