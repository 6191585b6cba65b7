//! One trivial job through the whole program, against a bare `bash -c true`.
//!
//! Prints the medians of both, their ratio, and the peak memory of our process. The binary is built
//! first, with the profile of this bench; the project lies on a memory file system where there is one.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::{Context, ensure};
use process::{Command, NeverStop, Settings, Stdin, Stream, Supervisor, Timing};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const ROUNDS: usize = 60;
const WARM_UP: usize = 5;
const GOAL_RATIO: f64 = 10.0;
const GOAL_RSS: u64 = 15 * 1024 * 1024;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(compare())
}

async fn compare() -> anyhow::Result<()> {
    let supervisor = Supervisor::start(Settings::default())?;
    let binary = binary(&supervisor).await?;
    let scratch = tempfile::Builder::new()
        .prefix("local-run-")
        .tempdir_in(fast_dir())?;
    let project = small_repository(&supervisor, scratch.path()).await?;

    let bash = inherit_path(Command::new("bash").args(["-c", "true"]).stdin(Stdin::Null));
    let run = inherit_path(
        Command::new(binary.to_string_lossy().into_owned())
            .args(["run", "--progress", "plain"])
            .current_dir(&project)
            .env("HOME", scratch.path())
            .env("RUNWRIGHT_HOME", scratch.path().join("state"))
            .stdin(Stdin::Null),
    );

    let (mut floors, mut runs, mut peak) = (Vec::new(), Vec::new(), 0);
    for round in 0..WARM_UP + ROUNDS {
        let floor = time(&supervisor, &bash).await?;
        let ours = time(&supervisor, &run).await?;
        if round >= WARM_UP {
            floors.push(floor.wall);
            runs.push(ours.wall);
            peak = peak.max(ours.peak);
        }
    }
    let mut ratios: Vec<f64> = floors
        .iter()
        .zip(&runs)
        .map(|(floor, ours)| ours.as_secs_f64() / floor.as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios[ratios.len() / 2];

    println!("one trivial job, {ROUNDS} rounds in turn, medians");
    println!("  bash -c true   {:>8.2} ms", millis(median(floors)));
    println!("  runwright run  {:>8.2} ms", millis(median(runs)));
    println!("  ratio          {ratio:>8.2}     goal <= {GOAL_RATIO}");
    println!(
        "  peak memory    {:>8.2} MiB   goal <= {} MiB",
        mebi(peak),
        GOAL_RSS >> 20
    );
    Ok(())
}

struct Timed {
    wall: Duration,
    peak: u64,
}

/// Runs a command to its end, in the same way for both sides.
async fn time(supervisor: &Supervisor, command: &Command) -> anyhow::Result<Timed> {
    let tree = supervisor.tree();
    let mut output = Vec::new();
    let mut sink = |_: Stream, bytes: &[u8]| output.extend_from_slice(bytes);
    let start = Instant::now();
    let outcome = tree
        .spawn(command)?
        .run(&mut sink, &NeverStop, &Timing::default())
        .await?;
    let wall = start.elapsed();
    tree.close().await?;
    ensure!(
        outcome.success(),
        "{}: {}",
        outcome.status,
        String::from_utf8_lossy(&output)
    );
    Ok(Timed {
        wall,
        peak: outcome.usage.max_resident,
    })
}

/// Builds the program beside this bench and returns its path.
async fn binary(supervisor: &Supervisor) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own
        .parent()
        .and_then(Path::parent)
        .context("the bench lies in no target folder")?;
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let target = folder.parent().context("the target folder has no parent")?;
    let build = std::env::vars().fold(
        Command::new(cargo)
            .args(["build", "--release", "-p", "cli", "--target-dir"])
            .arg(target),
        |command, (key, value)| command.env(key, value),
    );
    time(supervisor, &build).await.context("build runwright")?;
    Ok(folder.join("runwright"))
}

async fn small_repository(supervisor: &Supervisor, scratch: &Path) -> anyhow::Result<PathBuf> {
    let project = scratch.join("project");
    std::fs::create_dir_all(project.join("src"))?;
    std::fs::write(
        project.join(".gitlab-ci.yml"),
        "job:\n  script: [\"true\"]\n",
    )?;
    for number in 0..20 {
        std::fs::write(
            project.join(format!("src/{number}.txt")),
            "some text\n".repeat(40),
        )?;
    }
    let script =
        "git init -q && git add . && git -c user.name=a -c user.email=a@b.c commit -qm first";
    let command = inherit_path(
        Command::new("sh")
            .args(["-c", script])
            .current_dir(&project)
            .env("HOME", scratch),
    );
    time(supervisor, &command)
        .await
        .context("make a repository")?;
    Ok(project)
}

fn inherit_path(command: Command) -> Command {
    command.env("PATH", std::env::var("PATH").unwrap_or_default())
}

/// Returns a directory in memory where the system has one, so that the disk is not measured.
fn fast_dir() -> PathBuf {
    let shared_memory = Path::new("/dev/shm");
    if shared_memory.is_dir() {
        shared_memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

#[expect(
    clippy::cast_precision_loss,
    reason = "sizes are shown with two digits"
)]
fn mebi(bytes: u64) -> f64 {
    bytes as f64 / (1024.0 * 1024.0)
}
