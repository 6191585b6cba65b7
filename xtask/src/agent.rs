//! Builds the agent as it goes into containers: static, small.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::run;
use crate::workspace::Workspace;

/// Names an agent that is there already, for whoever looks for one.
pub(crate) const VARIABLE: &str = "RUNWRIGHT_AGENT";

/// Names the agent that a program is built with, for its feature `embedded-agent`.
pub(crate) const EMBEDDED: &str = "RUNWRIGHT_EMBEDDED_AGENT";

/// What the program is called.
const PROGRAM: &str = "runwright-agent";

/// The profile of the workspace it is built in.
const PROFILE: &str = "agent";

/// What it may weigh, in bytes: it is copied into each container.
const LARGEST: u64 = 6 * 1024 * 1024;

/// Where the agent goes.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Where to put the program; by default it stays in `target/agent`.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Builds the agent and says where it is and how large.
///
/// # Errors
///
/// Fails when it cannot be built, or is too large.
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

/// Builds the agent, in a folder of its own below the target folder, and returns its path.
///
/// # Errors
///
/// Fails when it cannot be built or is too large, or where no static program can be.
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
        // A target that is named takes these for the program alone, not for what runs while it is built.
        .env("RUSTFLAGS", flags(env::var("RUSTFLAGS").ok()))
        // Cargo prefers this one, and it would take our flags away.
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
/// Tests that give up root's rights read it too, also where the checkout is below a private home.
#[derive(Debug)]
pub(crate) struct SharedAgent {
    directory: PathBuf,
}

impl SharedAgent {
    /// Copies an agent into a directory of its own below the system's temporary directory.
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

    /// Returns where the copy is.
    pub(crate) fn program(&self) -> PathBuf {
        self.directory.join(PROGRAM)
    }
}

impl Drop for SharedAgent {
    fn drop(&mut self) {
        // The temporary directory is the system's to empty; an error here would hide how the tests ended.
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

/// Returns the target of this machine whose C library can be linked into a program.
fn target() -> anyhow::Result<&'static str> {
    match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => Ok("x86_64-unknown-linux-gnu"),
        ("linux", "aarch64") => Ok("aarch64-unknown-linux-gnu"),
        (system, machine) => bail!("no agent can be built on {system} {machine}"),
    }
}

/// Adds to the flags of whoever calls us what makes the program static.
fn flags(given: Option<String>) -> String {
    let own = "-C target-feature=+crt-static";
    match given {
        Some(given) if !given.trim().is_empty() => format!("{given} {own}"),
        _ => own.to_owned(),
    }
}

/// Copies the program to its place in one step, as somebody may be running what is there.
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
    fn an_agent_that_is_too_large_is_refused() {
        assert!(check_size(LARGEST).is_ok());
        let error = check_size(LARGEST + 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the agent has 6145 KiB, and goes into each container: 6144 KiB is the most"
        );
    }

    #[test]
    fn the_program_is_put_where_it_is_wanted() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("built");
        fs::write(&program, "program").unwrap();
        let place = put(&program, &root.path().join("out")).unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "program");
        assert_eq!(fs::read_dir(place.parent().unwrap()).unwrap().count(), 1);
    }
}
