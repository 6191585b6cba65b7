//! Programs that the checks need and that cargo can build.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::run;
use crate::workspace::Workspace;

/// A program from the registry, pinned so that a new release cannot change the result of a check.
pub(crate) struct Tool {
    /// The name of the package and of its program.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The features to build, without the default ones; `None` for the defaults.
    pub(crate) features: Option<&'static str>,
}

impl Tool {
    /// Returns the program, and builds it first if it is missing.
    ///
    /// # Errors
    ///
    /// Fails when the build fails.
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

    /// Whether the program starts and has the pinned version.
    fn is(&self, program: &OsString) -> bool {
        let output = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .output();
        output.is_ok_and(|output| self.says(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Whether this is the output for the pinned version: `cargo-deny 0.20.2`, `mdbook v0.5.4`.
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
        // It runs for a second, so a quick build matters more than a fast program: the release profile takes several
        // times longer.
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
    fn other_program_is_rejected() {
        assert!(!TOOL.is(&OsString::from("no-such-program-here")));
        assert!(!TOOL.is(&OsString::from("true")));
    }

    #[test]
    fn other_version_is_rejected() {
        assert!(TOOL.says("mdbook v0.5.4\n"));
        assert!(TOOL.says("mdbook 0.5.4"));
        assert!(!TOOL.says("mdbook v0.5.40"));
        assert!(!TOOL.says("cargo-deny 0.5.4"));
    }
}
