//! This program as the helper command, which scripts in environments start as `gitlab-runner`.
//!
//! It is one when its own name is `gitlab-runner`, and as `runwright helper COMMAND`.

use crate::failure::{Exit, Failure, exit_code};
use crate::runtime;
use anyhow::Context;
use console::{error_line, strip_controls};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use workstation::helper::{HelperCommand, HelperContext};

/// The name of GitLab Runner.
const RUNNER: &str = "gitlab-runner";

/// Returns the words of `runwright runner` for a command of GitLab Runner: this program may be started under its name.
pub(crate) fn as_runner(mut words: Vec<OsString>) -> Vec<OsString> {
    let name = words.first().map(Path::new).and_then(Path::file_name);
    let first = words.get(1).and_then(|it| it.to_str()).unwrap_or_default();
    let is_helper = HelperCommand::NAMES.contains(&first) || first.starts_with('-');
    if name == Some(OsStr::new(RUNNER)) && !is_helper {
        words[0] = "runwright".into();
        words.insert(1, "runner".into());
    }
    words
}

/// Runs a helper command if these are the arguments of one.
pub(crate) fn run(words: &[OsString]) -> Option<ExitCode> {
    let name = words.first().map(Path::new).and_then(Path::file_name);
    let arguments = if name == Some(OsStr::new(RUNNER)) {
        words.get(1..)
    } else {
        words.get(2..).filter(|_| words[1] == "helper")
    }?;
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let arguments: Vec<String> = arguments.iter().map(text).collect();
    Some(match execute(&arguments) {
        Ok(exit) => exit_code(exit),
        Err(failure) => {
            failure.report();
            exit_code(failure.exit())
        }
    })
}

fn execute(arguments: &[String]) -> Result<Exit, Failure> {
    if let [only] = arguments
        && matches!(only.as_str(), "--version" | "-v")
    {
        let text = concat!(
            "runwright ",
            env!("CARGO_PKG_VERSION"),
            " as helper command\n"
        );
        // The caller wants the exit code.
        let _ = console::print(text.as_bytes());
        return Ok(Exit::Success);
    }
    let command = HelperCommand::parse(arguments).map_err(|error| {
        Failure::usage(error).with_help("scripts of jobs start this command; it is not for users")
    })?;
    let variable = |name: &str| std::env::var(name).ok();
    // The last stage of the job removes it, also if this command was killed.
    let own = variable("RUNNER_TEMP_PROJECT_DIR").map(PathBuf::from);
    let directory = std::env::current_dir()
        .context("find the working directory")
        .map_err(Failure::environment)?;
    let context = HelperContext {
        directory,
        temp: own
            .filter(|it| it.is_dir())
            .unwrap_or_else(std::env::temp_dir),
        variable: Arc::new(variable),
        print: Arc::new(|line| error_line(&strip_controls(line))),
    };
    let runtime = runtime::start_on_this_thread()?;
    match runtime.block_on(command.run(&context)) {
        Ok(()) => Ok(Exit::Success),
        Err(error) => {
            let text = strip_controls(&executor_core::chain(&error));
            error_line(&format!("ERROR: {text}"));
            Ok(Exit::JobFailed)
        }
    }
}
