//! Runs programs and says what they took.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use process::{Command, NeverStop, Outcome, Settings, Stream, Supervisor, Timing};
use tempfile::TempDir;

use crate::{Project, Workload};

/// Names a directory for the projects that are measured in; the variable of the README.
const PLACE: &str = "RUNWRIGHT_BENCH_DIR";

/// How much of the end of a program's output an error shows.
const TAIL: usize = 2048;

/// Where measurements happen: a scratch directory in memory and the `runwright` that is measured.
///
/// Everything in the directory is removed when it is dropped.
#[derive(Debug)]
pub struct Bench {
    supervisor: Supervisor,
    scratch: TempDir,
    program: PathBuf,
}

/// One run of a program.
#[derive(Debug)]
pub struct Run {
    /// From before its start until it and all it started had ended.
    pub wall: Duration,
    /// What it and the children it waited for computed.
    pub cpu: Duration,
    /// The most memory that one of its processes had resident.
    pub peak: u64,
    /// How much it wrote, to both streams.
    pub bytes: u64,
    outcome: Outcome,
    tail: Vec<u8>,
}

impl Bench {
    /// Builds `runwright` in release mode and prepares the scratch directory.
    ///
    /// Call it inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be built or the directory cannot be made.
    pub async fn start() -> anyhow::Result<Self> {
        let mut bench = Self {
            supervisor: Supervisor::start(Settings::default())?,
            scratch: tempfile::Builder::new()
                .prefix("runwright-bench-")
                .tempdir_in(place())
                .context("make a scratch directory")?,
            program: PathBuf::new(),
        };
        bench.program = bench.build().await.context("build runwright")?;
        Ok(bench)
    }

    /// Makes a project with the pipeline of a workload.
    ///
    /// # Errors
    ///
    /// Fails as [`Project::create`] does.
    pub async fn project(&self, workload: &Workload) -> anyhow::Result<Project> {
        let root = tempfile::Builder::new()
            .prefix("project-")
            .tempdir_in(&self.scratch)?
            .keep();
        Project::create(self, &root, workload).await
    }

    /// Returns a command for `runwright` in a project, with its state in the scratch directory.
    pub fn runwright(&self, project: &Project) -> Command {
        self.command(&self.program)
            .current_dir(project.root())
            .env("RUNWRIGHT_HOME", self.scratch.path().join("state"))
    }

    /// Returns a command that knows `PATH`, a home in the scratch directory and nothing else.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        Command::new(program.as_ref())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.scratch.path())
    }

    /// Runs a command to its end, reading all it writes.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started. That it failed is part of the [`Run`].
    pub async fn run(&self, command: &Command) -> anyhow::Result<Run> {
        let tree = self.supervisor.tree();
        let mut tail = Vec::new();
        // Only the end is kept: the memory of this process counts as its child's until the child
        // has become another program.
        let mut sink = |_: Stream, bytes: &[u8]| {
            tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
            tail.drain(..tail.len().saturating_sub(TAIL));
        };
        let start = Instant::now();
        let outcome = tree
            .spawn(command)?
            .run(&mut sink, &NeverStop, &Timing::default())
            .await?;
        let wall = start.elapsed();
        tree.close().await?;
        Ok(Run {
            wall,
            cpu: outcome.usage.user + outcome.usage.system,
            peak: outcome.usage.max_resident,
            bytes: outcome.bytes.iter().sum(),
            outcome,
            tail,
        })
    }

    /// Builds the program into the target folder this bench lies in, with what cargo told it.
    async fn build(&self) -> anyhow::Result<PathBuf> {
        let own = std::env::current_exe()?;
        // A bench is `<target>/<profile>/deps/<name>`, whatever the profile.
        let target = own.ancestors().nth(3);
        let target = target.context("this bench lies in no target folder")?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let build = Command::new(cargo)
            .args(["build", "--release", "--package", "cli", "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .envs(std::env::vars_os());
        self.run(&build).await?.succeeded()?;
        let program = target.join("release").join("runwright");
        ensure!(program.is_file(), "{} is not there", program.display());
        Ok(program)
    }
}

impl Run {
    /// Returns the run if the program ended well.
    ///
    /// # Errors
    ///
    /// Fails with the end of what it wrote if it did not.
    pub fn succeeded(self) -> anyhow::Result<Self> {
        if !self.outcome.success() {
            let tail = String::from_utf8_lossy(&self.tail);
            bail!("{}: {}", self.outcome.status, tail.trim());
        }
        Ok(self)
    }
}

/// Returns where to work: where the user says, else in memory where there is such a place.
fn place() -> PathBuf {
    let shared_memory = Path::new("/dev/shm");
    match std::env::var_os(PLACE) {
        Some(place) => place.into(),
        None if shared_memory.is_dir() => shared_memory.to_owned(),
        None => std::env::temp_dir(),
    }
}
