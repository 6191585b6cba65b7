//! Licences, bans and sources of the dependencies, by cargo-deny and `deny.toml`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::run;
use crate::workspace::Workspace;

/// Pinned, so that a release of the tool cannot change what passes.
const VERSION: &str = "0.20.2";

/// Checks the dependencies.
///
/// # Errors
///
/// Fails when cargo-deny cannot be built or finds something.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    println!("ADVISORIES NOT CHECKED: no advisory database can be fetched here");
    let program = cargo_deny(workspace)?;
    let mut command = Command::new(program);
    command.current_dir(&workspace.root).stdin(Stdio::null());
    // Two versions of one crate are a warning that no reader of this output can act on; `cargo deny check` shows them.
    run::run(command.args([
        "--log-level",
        "error",
        "check",
        "bans",
        "licenses",
        "sources",
    ]))
}

/// Returns the program, built first when it is not there.
fn cargo_deny(workspace: &Workspace) -> anyhow::Result<OsString> {
    if is_wanted(&OsString::from("cargo-deny")) {
        return Ok(OsString::from("cargo-deny"));
    }
    let tools = workspace.target_directory.join("tools");
    let program = tools.join("bin/cargo-deny").into_os_string();
    if is_wanted(&program) {
        return Ok(program);
    }
    println!("deny: building cargo-deny {VERSION}, once; it takes a minute or two");
    install(&tools).with_context(|| format!("build cargo-deny {VERSION}"))?;
    Ok(program)
}

/// Whether the program can be started and has the pinned version.
fn is_wanted(program: &OsString) -> bool {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("cargo-deny {VERSION}")
    })
}

fn install(tools: &PathBuf) -> anyhow::Result<()> {
    let mut command = run::cargo();
    command
        .args([
            "install",
            "cargo-deny",
            "--locked",
            "--force",
            "--version",
            VERSION,
        ])
        .arg("--root")
        .arg(tools);
    // It runs for a second, so it is built for the shortest build: the published profile takes several times longer.
    command.args([
        "--config",
        "profile.release.lto=false",
        "--config",
        "profile.release.opt-level=1",
    ]);
    command.args(["--config", "profile.release.debug=false"]);
    run::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_program_is_not_the_wanted_one() {
        assert!(!is_wanted(&OsString::from("no-such-program-here")));
        assert!(!is_wanted(&OsString::from("true")));
    }
}
