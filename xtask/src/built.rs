//! Tests that cargo has built with all others, to be run once more.
//!
//! Asked for one package alone, cargo would build it anew: with the features that it needs itself, and not those that all
//! together need.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::workspace::Workspace;

/// What cargo builds all tests of: the program with the agent inside among them, which `RUNWRIGHT_EMBEDDED_AGENT` names.
pub(crate) const ALL: [&str; 3] = ["--workspace", "--features", "runwright-cli/embedded-agent"];

/// The integration tests of a package.
#[derive(Debug)]
pub(crate) struct Tests {
    program: PathBuf,
    directory: PathBuf,
}

impl Tests {
    /// Returns the command that runs them, where cargo would.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Checks that a filter chooses at least one test, so that a renamed test is noticed.
    ///
    /// # Errors
    ///
    /// Fails when it chooses none.
    pub(crate) fn expect_some(&self, filter: &str) -> anyhow::Result<()> {
        let listed = self.command().args(["--list", filter]).output();
        let listed =
            listed.with_context(|| format!("list the tests in {}", self.program.display()))?;
        if !String::from_utf8_lossy(&listed.stdout).contains(": test") {
            bail!("no test of {} is named {filter}", self.program.display());
        }
        Ok(())
    }
}

/// What cargo says of one thing that it has built.
#[derive(Debug, Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// Finds the integration tests of a package by a cargo that has built them.
///
/// # Errors
///
/// Fails when they are not built, and cannot be.
pub(crate) fn tests(
    mut cargo: Command,
    workspace: &Workspace,
    package: &str,
) -> anyhow::Result<Tests> {
    let mut packages = workspace.packages.iter();
    let package = packages
        .find(|found| found.folder_name() == package)
        .with_context(|| format!("there is no package {package}"))?;
    let format = [
        "--no-run",
        "--quiet",
        "--message-format",
        "json-render-diagnostics",
    ];
    let command = cargo
        .arg("test")
        .args(ALL)
        .args(format)
        .stderr(Stdio::inherit());
    let built = command.output().context("start cargo")?;
    if !built.status.success() {
        bail!("the tests cannot be built, {}", built.status);
    }
    let program = program(
        &String::from_utf8_lossy(&built.stdout),
        &package.manifest_path,
    );
    let program = program.with_context(|| format!("{} has no tests", package.name))?;
    let directory = package.manifest_path.parent().map(Path::to_owned);
    Ok(Tests {
        program,
        directory: directory.context("a manifest is in a directory")?,
    })
}

/// Returns the program with the integration tests of a package, from the messages of cargo.
fn program(messages: &str, manifest: &Path) -> Option<PathBuf> {
    // Other messages are none of ours.
    let artifacts = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    let mut tests = artifacts
        .filter(|artifact| artifact.manifest_path == manifest && artifact.target.kind == ["test"]);
    tests.find_map(|artifact| artifact.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_with_the_tests_of_a_package_is_found() {
        let artifact = |package: &str, kind: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/{package}/Cargo.toml","target":{{"kind":["{kind}"]}},"executable":{executable}}}"#
            )
        };
        let messages = [
            artifact("a", "lib", "null"),
            artifact("a", "lib", "\"/t/lib\""),
            artifact("b", "test", "\"/t/other\""),
            artifact("a", "test", "\"/t/it\""),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let found = |package: &str| {
            let manifest = format!("/w/{package}/Cargo.toml");
            program(&messages.join("\n"), Path::new(&manifest))
        };
        assert_eq!(found("a"), Some("/t/it".into()));
        assert_eq!(found("c"), None);
    }
}
