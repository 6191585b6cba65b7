//! Builds the agent for containers: static and small.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::run;
use crate::workspace::Workspace;

/// The environment variable with the path of an existing agent.
pub(crate) const VARIABLE: &str = "RUNWRIGHT_AGENT";

/// The environment variable with the path of an agent to embed instead of building one.
pub(crate) const EMBEDDED: &str = "RUNWRIGHT_EMBEDDED_AGENT";

/// The name of the program.
const PROGRAM: &str = "runwright-agent";

/// The package that it belongs to.
const PACKAGE: &str = "runwright-steps";

/// The size limit in bytes: the agent is copied into each container.
const LARGEST: u64 = 6 * 1024 * 1024;

/// Where the agent goes.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Where to put the program; by default it stays in the target directory.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Builds the agent and prints its path and size.
///
/// # Errors
///
/// Fails when the build fails or the agent is too large.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let built = build(workspace)?;
    let program = match &options.output {
        Some(directory) => put(&built, directory)?,
        None => built,
    };
    let size = size(&program)?;
    println!("{} ({} KiB)", program.display(), size.div_ceil(1024));
    Ok(())
}

/// Builds the agent as a release build does, through the build script of its crate, and returns its path.
///
/// # Errors
///
/// Fails when the agent cannot be built, or is too large.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let mut command = run::cargo();
    command
        .args(["check", "--quiet", "--release", "--package", PACKAGE])
        .args(["--lib", "--features", "embedded-agent"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(&workspace.root)
        .env_remove(EMBEDDED)
        .stderr(Stdio::inherit());
    let built = command.output().context("start cargo")?;
    if !built.status.success() {
        bail!("the crate of the agent cannot be built, {}", built.status);
    }
    let program = embedded(&String::from_utf8_lossy(&built.stdout));
    let program = program.context("the agent cannot be built: see the warning above")?;
    check_size(size(&program)?)?;
    Ok(program)
}

/// A message of cargo about the build script of a package.
#[derive(Debug, Deserialize)]
struct ScriptExecuted {
    package_id: String,
    env: Vec<(String, PathBuf)>,
}

/// Returns the path of the agent that the build script embeds, from the messages of cargo.
fn embedded(messages: &str) -> Option<PathBuf> {
    let executed = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<ScriptExecuted>(line).ok());
    let mut variables = executed
        .filter(|script| script.package_id.contains("/steps#"))
        .flat_map(|script| script.env);
    let found = variables.find(|(name, _)| name == "RUNWRIGHT_AGENT_FILE");
    found.map(|(_, path)| path)
}

/// A copy of the agent that every user of this machine can read, until it is dropped.
///
/// Tests that drop root's rights need to read it even when the checkout is below a private home directory.
#[derive(Debug)]
pub(crate) struct SharedAgent {
    directory: PathBuf,
}

impl SharedAgent {
    /// Copies an agent into a new directory below the system's temporary directory.
    ///
    /// # Errors
    ///
    /// Fails when the copy cannot be written.
    pub(crate) fn of(program: &Path) -> anyhow::Result<Self> {
        let directory =
            env::temp_dir().join(format!("runwright-test-agent-{}", std::process::id()));
        let shared = Self { directory };
        let placed = put(program, &shared.directory)?;
        for path in [&shared.directory, &placed] {
            fs::set_permissions(path, Permissions::from_mode(0o755))
                .with_context(|| format!("open {} to all users", path.display()))?;
        }
        Ok(shared)
    }

    /// Returns the path of the copy.
    pub(crate) fn program(&self) -> PathBuf {
        self.directory.join(PROGRAM)
    }
}

impl Drop for SharedAgent {
    fn drop(&mut self) {
        // The system cleans its temporary directory; an error here would hide the result of the tests.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn size(program: &Path) -> anyhow::Result<u64> {
    let found = fs::metadata(program);
    let found = found.with_context(|| format!("look at {}", program.display()))?;
    Ok(found.len())
}

fn check_size(size: u64) -> anyhow::Result<()> {
    if size > LARGEST {
        bail!(
            "the agent has {} KiB, and goes into each container: {} KiB is the most",
            size.div_ceil(1024),
            LARGEST / 1024
        );
    }
    Ok(())
}

/// Renames the program into place, because the old one may be running.
fn put(program: &Path, directory: &Path) -> anyhow::Result<PathBuf> {
    let place = directory.join(PROGRAM);
    let partial = directory.join(format!(".{PROGRAM}.{}", std::process::id()));
    fs::create_dir_all(directory)
        .and_then(|()| fs::copy(program, &partial).map(drop))
        .and_then(|()| fs::rename(&partial, &place))
        .with_context(|| format!("put the agent into {}", directory.display()))?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_comes_from_the_build_script() {
        let script = |package: &str, env: &str| {
            format!(
                r#"{{"reason":"build-script-executed","package_id":"path+file:///w/crates/{package}#runwright-x@0.1.0","env":[{env}]}}"#
            )
        };
        let messages = [
            script("steps", r#"["RUNWRIGHT_AGENT_FILE","/out/agent"]"#),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        assert_eq!(embedded(&messages.join("\n")), Some("/out/agent".into()));
        assert_eq!(embedded(&script("steps", "")), None);
        let other = script("other", r#"["RUNWRIGHT_AGENT_FILE","/other"]"#);
        assert_eq!(embedded(&other), None);
    }

    #[test]
    fn too_large_agent_is_refused() {
        assert!(check_size(LARGEST).is_ok());
        let error = check_size(LARGEST + 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the agent has 6145 KiB, and goes into each container: 6144 KiB is the most"
        );
    }

    #[test]
    fn program_is_copied_to_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("built");
        fs::write(&program, "program").unwrap();
        let place = put(&program, &root.path().join("out")).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "program");
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    }
}
