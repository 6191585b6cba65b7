//! Builds the agent for containers: static and small.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::run;
use crate::workspace::Workspace;

/// The environment variable with the path of an existing agent.
pub(crate) const VARIABLE: &str = "RUNWRIGHT_AGENT";

/// The environment variable with the path of the agent to embed, for the feature `embedded-agent`.
pub(crate) const EMBEDDED: &str = "RUNWRIGHT_EMBEDDED_AGENT";

/// The name of the program.
const PROGRAM: &str = "runwright-agent";

/// The workspace profile that builds it.
const PROFILE: &str = "agent";

/// The size limit in bytes: the agent is copied into each container.
const LARGEST: u64 = 6 * 1024 * 1024;

/// Where the agent goes.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Where to put the program; by default it stays in `target/agent`.
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

/// Builds the agent in its own subdirectory of the target directory, and returns its path.
///
/// # Errors
///
/// Fails when the build fails, the agent is too large, or this machine cannot link static programs.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let target = target()?;
    let folder = workspace.target_directory.join("agent");
    let mut command = run::cargo();
    command
        .args([
            "build",
            "--quiet",
            "--package",
            "runwright-steps",
            "--bin",
            PROGRAM,
        ])
        .args(["--profile", PROFILE, "--target", target, "--target-dir"])
        .arg(&folder)
        .current_dir(&workspace.root)
        // With an explicit target, cargo applies these flags to the program and not to build scripts.
        .env("RUSTFLAGS", flags(env::var("RUSTFLAGS").ok()))
        // Cargo prefers this variable, which would override our flags.
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    run::run(&mut command).context("build the agent")?;
    let program = folder.join(target).join(PROFILE).join(PROGRAM);
    if !program.is_file() {
        bail!("{} is not there after it was built", program.display());
    }
    check_size(size(&program)?)?;
    Ok(program)
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

/// Returns this machine's target whose C library supports static linking.
fn target() -> anyhow::Result<&'static str> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => Ok("x86_64-unknown-linux-gnu"),
        ("linux", "aarch64") => Ok("aarch64-unknown-linux-gnu"),
        (system, machine) => bail!("no agent can be built on {system} {machine}"),
    }
}

/// Adds the flags for a static program to those of the caller.
fn flags(given: Option<String>) -> String {
    let own = "-C target-feature=+crt-static";
    match given {
        Some(given) if !given.trim().is_empty() => format!("{given} {own}"),
        _ => own.to_owned(),
    }
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
    fn flags_of_the_caller_are_kept() {
        assert_eq!(flags(None), "-C target-feature=+crt-static");
        assert_eq!(flags(Some(" ".to_owned())), "-C target-feature=+crt-static");
        let kept = flags(Some("-D warnings".to_owned()));
        assert_eq!(kept, "-D warnings -C target-feature=+crt-static");
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
