//! A Python with gRPC, for the test that calls the service with a third-party client.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::run;

/// The environment variable with the path of the interpreter.
pub(crate) const VARIABLE: &str = "RUNWRIGHT_TEST_PYTHON";

/// The packages to install from the package index.
const PACKAGES: [&str; 2] = ["grpcio", "grpcio-tools"];

/// Creates a virtual environment below the target folder, unless it exists, and returns its interpreter.
///
/// `install` installs a system package where possible.
///
/// # Errors
///
/// Fails when Python is missing, or the package index cannot be reached.
pub(crate) fn provide(target: &Path, install: impl FnOnce(&str)) -> anyhow::Result<PathBuf> {
    let folder = target.join("python-client");
    let python = folder.join("bin").join("python");
    if succeeds(python.as_os_str(), "import grpc, grpc_tools") {
        return Ok(python);
    }
    if !succeeds("python3".as_ref(), "import ensurepip, venv") {
        install("python3-venv");
    }
    println!("test: installing {} from PyPI", PACKAGES.join(" "));
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    run::run(quiet(&mut make))
        .context("make a Python environment, for which Debian has python3-venv")?;
    let mut fetch = Command::new(&python);
    fetch.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    run::run(quiet(fetch.args(PACKAGES))).context("install gRPC for Python")?;
    Ok(python)
}

fn succeeds(python: &std::ffi::OsStr, code: &str) -> bool {
    let mut command = Command::new(python);
    let ended = quiet(command.args(["-c", code]))
        .stderr(Stdio::null())
        .status();
    ended.is_ok_and(|status| status.success())
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null())
}
