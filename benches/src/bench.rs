//! Runs programs and measures them.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use process::{
    Command, NeverStop, Settings, Stream, Supervisor, TempDir, Timing, make_private_dir, recover,
};
use tokio::time::timeout;

use crate::{Project, Run, Tool, Workload};

/// The variable with the directory for the measured projects; the README describes it.
const PLACE: &str = "RUNWRIGHT_BENCH_DIR";

/// How much of the end of a program's output an error shows, in bytes.
const TAIL: usize = 4096;

/// The default limit, for the short programs of a bench.
const DEADLINE: Duration = Duration::from_mins(2);

/// The limit for a full build on a slow machine.
const BUILD_DEADLINE: Duration = Duration::from_mins(30);

/// The environment of measurements: a scratch directory in memory, and the processes that run in it.
///
/// The directory is removed on drop, and also when the bench is killed.
#[derive(Debug)]
pub struct Bench {
    /// Before the supervisor, because its journal drops the entry once the directory is removed.
    scratch: TempDir,
    supervisor: Supervisor,
    projects: Cell<usize>,
    target: PathBuf,
}

impl Bench {
    /// Creates the scratch directory. Call it inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be created.
    pub fn start() -> anyhow::Result<Self> {
        let own = std::env::current_exe()?;
        // A bench is at `<target>/<profile>/deps/<name>` in every profile.
        let target = own.ancestors().nth(3);
        let target = target.context("this bench lies in no target folder")?;
        let state = target.join("bench-state");
        make_private_dir(&state).context("make a directory for the journal")?;
        recover(&state)?;
        let supervisor = Supervisor::start(Settings {
            state_dir: Some(state),
            ..Settings::default()
        })?;
        Ok(Self {
            scratch: supervisor.temp_dir(&place(), "runwright-bench-")?,
            supervisor,
            projects: Cell::new(0),
            target: target.to_owned(),
        })
    }

    /// Builds `runwright` in release mode, into the target folder of this bench.
    ///
    /// Its state is in the scratch directory.
    ///
    /// # Errors
    ///
    /// Fails if the build fails.
    pub async fn runwright(&self) -> anyhow::Result<Tool> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // The environment stays unchanged, because cargo passes its own settings through it.
        let build = Command::new(cargo)
            .args([
                "build",
                "--release",
                "--package",
                "runwright-cli",
                "--target-dir",
            ])
            .arg(&self.target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .envs(std::env::vars_os());
        let run = self.run_within(&build, BUILD_DEADLINE).await?;
        run.succeeded().context("build runwright")?;
        let program = self.target.join("release").join("runwright");
        ensure!(program.is_file(), "{} is not there", program.display());
        Ok(Tool::new("runwright", program)
            .env("RUNWRIGHT_HOME", self.scratch.path().join("state"))
            .run_with(&["run"])
            .list_with(&["list"]))
    }

    /// Creates a project with the pipeline of a workload.
    ///
    /// # Errors
    ///
    /// Fails as [`Project::create`] does.
    pub async fn project(&self, workload: &Workload) -> anyhow::Result<Project> {
        self.project_of(&workload.yaml()).await
    }

    /// Creates a project with this text as its pipeline file.
    ///
    /// # Errors
    ///
    /// Fails as [`Project::create`] does.
    pub async fn project_of(&self, yaml: &str) -> anyhow::Result<Project> {
        let number = self.projects.replace(self.projects.get() + 1);
        let root = self.scratch.path().join(format!("project-{number}"));
        Project::create(self, &root, yaml).await
    }

    /// Returns a command whose process environment has only `PATH` and a home in the scratch directory.
    pub fn command(&self, program: impl Into<OsString>) -> Command {
        Command::new(program)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.scratch.path())
    }

    /// Returns the scratch directory.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Returns the target directory of this bench.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Runs a command to its end, and reads all its output.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started. Its own failure, or a timeout after minutes, is part of the [`Run`].
    pub async fn run(&self, command: &Command) -> anyhow::Result<Run> {
        self.run_within(command, DEADLINE).await
    }

    /// Like [`run`](Self::run), with another time limit.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started.
    pub async fn run_within(&self, command: &Command, limit: Duration) -> anyhow::Result<Run> {
        let tree = self.supervisor.tree();
        let mut tail = Vec::new();
        // Only the end is kept: until the child executes another program, this process's memory counts as the
        // child's.
        let mut sink = |_: Stream, bytes: &[u8]| {
            tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
            tail.drain(..tail.len().saturating_sub(TAIL));
        };
        let start = Instant::now();
        let process = tree.spawn(command)?;
        let timing = Timing::default();
        let outcome = timeout(limit, process.run(&mut sink, &NeverStop, &timing)).await;
        let wall = start.elapsed();
        tree.close().await?;
        Ok(match outcome {
            Ok(outcome) => Run::ended(wall, &outcome?, tail),
            Err(_) => Run::timed_out(wall, tail),
        })
    }
}

/// Returns the directory to work in: the user's choice, or else one in memory where possible.
fn place() -> PathBuf {
    let shared_memory = Path::new("/dev/shm");
    match std::env::var_os(PLACE) {
        Some(place) => place.into(),
        None if shared_memory.is_dir() => shared_memory.to_owned(),
        None => std::env::temp_dir(),
    }
}
