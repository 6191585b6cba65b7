//! Programs that checks need and that cargo can build.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::run;
use crate::workspace::Workspace;

/// A program from the registry, pinned, so that a release of it cannot change what passes.
pub(crate) struct Tool {
    /// The name of the package and of its program.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The features it is built with, all others left out; `None` for the usual ones.
    pub(crate) features: Option<&'static str>,
}

impl Tool {
    /// Returns the program, built first when it is not there.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be built.
    pub(crate) fn program(&self, workspace: &Workspace) -> anyhow::Result<OsString> {
        let Self { name, version, .. } = self;
        if self.is(&OsString::from(name)) {
            return Ok(OsString::from(name));
        }
        let tools = workspace.target_directory.join("tools");
        let program = tools.join("bin").join(name).into_os_string();
        if self.is(&program) {
            return Ok(program);
        }
        println!("xtask: building {name} {version}, once; it takes a minute or two");
        self.install(&tools)
            .with_context(|| format!("build {name} {version}"))?;
        Ok(program)
    }

    /// Whether the program can be started and has the pinned version.
    fn is(&self, program: &OsString) -> bool {
        let output = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        output.is_ok_and(|output| self.says(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Whether these are the words of the pinned version: `cargo-deny 0.20.2`, `mdbook v0.5.4`.
    fn says(&self, words: &str) -> bool {
        let mut words = words.split_whitespace();
        let version = |word: &str| word.strip_prefix('v').unwrap_or(word) == self.version;
        words.next() == Some(self.name) && words.next().is_some_and(version)
    }

    fn install(&self, tools: &Path) -> anyhow::Result<()> {
        let mut command = run::cargo();
        command.args(["install", self.name, "--locked", "--force"]);
        command.args(["--version", self.version]);
        if let Some(features) = self.features {
            command.args(["--no-default-features", "--features", features]);
        }
        command.arg("--root").arg(tools);
        // It runs for a second, so it is built for the shortest build: the published profile takes several times longer.
        for setting in ["lto=false", "opt-level=1", "debug=false"] {
            command
                .arg("--config")
                .arg(format!("profile.release.{setting}"));
        }
        run::run(&mut command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: Tool = Tool {
        name: "mdbook",
        version: "0.5.4",
        features: None,
    };

    #[test]
    fn another_program_is_not_the_wanted_one() {
        assert!(!TOOL.is(&OsString::from("no-such-program-here")));
        assert!(!TOOL.is(&OsString::from("true")));
    }

    #[test]
    fn another_version_is_not_the_wanted_one() {
        assert!(TOOL.says("mdbook v0.5.4\n"));
        assert!(TOOL.says("mdbook 0.5.4"));
        assert!(!TOOL.says("mdbook v0.5.40"));
        assert!(!TOOL.says("cargo-deny 0.5.4"));
    }
}
