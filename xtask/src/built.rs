//! Runs tests again that cargo has already built together with all others.
//!
//! For a single package cargo would rebuild them, because it enables the features of that package alone rather than
//! those of the whole workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::workspace::Workspace;

/// The argument with which cargo builds all tests.
pub(crate) const ALL: [&str; 1] = ["--workspace"];

/// The integration tests of a package.
#[derive(Debug)]
pub(crate) struct Tests {
    program: PathBuf,
    directory: PathBuf,
}

impl Tests {
    /// Returns a command that runs them in the directory that cargo would use.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    /// Checks that a filter selects at least one test, so that a renamed test does not go unnoticed.
    ///
    /// # Errors
    ///
    /// Fails when it selects none.
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

/// A message of cargo about one artifact.
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

/// Finds the integration tests of a package through a cargo command that has built them.
///
/// # Errors
///
/// Fails when they are not built and cannot be built.
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

/// Returns the integration test program of a package, from the messages of cargo.
fn program(messages: &str, manifest: &Path) -> Option<PathBuf> {
    // Skips messages of other kinds.
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
    fn finds_the_test_program_of_a_package() {
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
