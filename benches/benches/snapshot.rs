//! The time to give jobs a working copy of 10,000 files, against `git clone --depth 20`.
//!
//! Prints the medians of preparing a job's directory and of removing it, for the first job of a run and for each
//! further one, and their ratios to the clone of the same round. All files are on a memory file system where there is
//! one. `SNAPSHOT_FILES=20` measures small trees, where a mount is not worthwhile.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::{Context, ensure};
use benches::statistics::{median, millis, ratio};
use executor_core::{
    ActiveJobs, BuildStage, Cancellation, ExecutorData, JobAssignment, JobRunner, JobSlot,
    RunContext, RunnerConfig,
};
use executor_shell::ShellConfig;
use executor_testkit::{JobBuilder, RecordingObserver};
use job_runner::{BuildRunner, BuildRunnerOptions, Snapshot, SnapshotMethod, Sources};
use process::{Command, NeverStop, Settings, Stdin, Stream, Supervisor, Timing};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of files, unless `SNAPSHOT_FILES` sets another.
const FILES: usize = 10_000;
const COMMITS: usize = 30;
const ROUNDS: usize = 9;
const FURTHER: usize = 3;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(compare())
}

/// The times of a directory.
#[derive(Debug, Clone, Copy)]
struct Took {
    ready: Duration,
    removed: Duration,
}

/// One way of creating a directory, with its times in all rounds.
#[derive(Debug)]
struct Row {
    name: &'static str,
    goal: Option<f64>,
    took: Vec<Took>,
    ratios: Vec<f64>,
}

impl Row {
    fn new(name: &'static str, goal: Option<f64>) -> Self {
        Self {
            name,
            goal,
            took: Vec::new(),
            ratios: Vec::new(),
        }
    }

    fn add(&mut self, took: Took, clone: Took) {
        self.ratios.push(ratio(took.ready, clone.ready));
        self.took.push(took);
    }

    fn print(&self) {
        let of = |part: fn(&Took) -> Duration| {
            let times: Vec<f64> = self.took.iter().map(|took| millis(part(took))).collect();
            median(&times)
        };
        let (ready, removed) = (of(|took| took.ready), of(|took| took.removed));
        let ratio = median(&self.ratios);
        let goal = self
            .goal
            .map_or(String::new(), |goal| format!("  goal <= {goal}"));
        println!(
            "  {:<28} {ready:>9.2} {removed:>9.2} {ratio:>8.3}{goal}",
            self.name
        );
    }
}

async fn compare() -> anyhow::Result<()> {
    let supervisor = Supervisor::start(Settings::default())?;
    let scratch = tempfile::Builder::new()
        .prefix("snapshot-")
        .tempdir_in(fast_dir())?;
    let files = match std::env::var("SNAPSHOT_FILES") {
        Ok(number) => number.parse().context("read SNAPSHOT_FILES")?,
        Err(_) => FILES,
    };
    let place = Place {
        files,
        supervisor,
        scratch: scratch.path().to_owned(),
    };
    let (tree, bytes) = place.repository().await?;
    let overlays = process::can_mount();
    if !overlays {
        println!("NOT MEASURED: overlays, since this process may not mount");
    }
    let mut clone = Row::new("git clone --depth 20", None);
    let mut rows = [
        (
            SnapshotMethod::Overlay,
            Row::new("overlay, first job", Some(0.4)),
            Row::new("overlay, further job", Some(0.1)),
        ),
        (
            SnapshotMethod::Copy,
            Row::new("copy, first job", None),
            Row::new("copy, further job", Some(0.4)),
        ),
    ];
    for _ in 0..ROUNDS {
        let cloned = place.clone_of(&tree).await?;
        clone.add(cloned, cloned);
        for (means, first, further) in &mut rows {
            if *means == SnapshotMethod::Overlay && !overlays {
                continue;
            }
            let jobs = place.jobs(&tree, *means).await?;
            first.add(jobs[0], cloned);
            jobs[1..].iter().for_each(|took| further.add(*took, cloned));
        }
    }
    println!(
        "{files} files, {} MiB, {COMMITS} commits; {ROUNDS} rounds in turn, medians in ms",
        bytes >> 20
    );
    println!(
        "  {:<28} {:>9} {:>9} {:>8}",
        "", "ready", "removed", "ratio"
    );
    clone.print();
    for (_, first, further) in rows.iter().filter(|(_, first, _)| !first.took.is_empty()) {
        first.print();
        further.print();
    }
    Ok(())
}

/// The directory of the measurement.
struct Place {
    files: usize,
    supervisor: Supervisor,
    scratch: PathBuf,
}

impl Place {
    /// Creates a repository with files of many sizes, some of which each commit changes.
    async fn repository(&self) -> anyhow::Result<(PathBuf, usize)> {
        let tree = self.scratch.join("tree");
        let mut bytes = 0;
        let mut numbers = Numbers(42);
        for number in 0..self.files {
            let path = tree.join(path_of(number));
            fs::create_dir_all(path.parent().context("it lies in a directory")?)?;
            let text = numbers.text(size_of(number, &mut numbers.clone()));
            bytes += text.len();
            fs::write(path, text)?;
        }
        let git = "git -c user.name=a -c user.email=a@b.c -c gc.auto=0";
        self.sh(
            &tree,
            &format!("{git} init -q -b main && {git} add . && {git} commit -qm 0"),
        )
        .await?;
        for commit in 1..COMMITS {
            for number in (commit..self.files + commit).step_by((self.files / 100).max(1)) {
                let text = numbers.text(2_000);
                fs::write(tree.join(path_of(number % self.files)), text)?;
            }
            self.sh(&tree, &format!("{git} commit -qam {commit}"))
                .await?;
        }
        self.sh(&tree, "git gc -q").await?;
        Ok((tree, bytes))
    }

    async fn clone_of(&self, tree: &Path) -> anyhow::Result<Took> {
        let target = self.scratch.join("clone");
        let script = format!("git clone -q --depth 20 file://{} clone", tree.display());
        let start = Instant::now();
        self.sh(&self.scratch, &script).await?;
        let ready = start.elapsed();
        let start = Instant::now();
        process::remove_tree(&target)?;
        Ok(Took {
            ready,
            removed: start.elapsed(),
        })
    }

    /// Runs the jobs of one pipeline in sequence.
    async fn jobs(&self, tree: &Path, means: SnapshotMethod) -> anyhow::Result<Vec<Took>> {
        let snapshot =
            Arc::new(Snapshot::new(tree, self.scratch.join("snapshots")).with_method(means));
        // The cost of a job without files, to be subtracted.
        let rest = self.job(Sources::None).await?.removed;
        let mut took = Vec::new();
        for _ in 0..=FURTHER {
            let job = self.job(Sources::Snapshot(Arc::clone(&snapshot))).await?;
            took.push(Took {
                ready: job.ready,
                removed: job.removed.saturating_sub(rest),
            });
        }
        // The shared snapshot is removed at the end of the run; the first job is charged with it.
        let start = Instant::now();
        snapshot.discard().await;
        took[0].removed += start.elapsed();
        Ok(took)
    }

    /// Runs one job, and returns the time for its sources and for the rest.
    async fn job(&self, sources: Sources) -> anyhow::Result<Took> {
        let options = BuildRunnerOptions {
            sources,
            ..BuildRunnerOptions::default()
        };
        let text = |name: &str| self.scratch.join(name).display().to_string();
        let shell = ShellConfig {
            login: false,
            builds_dir: text("builds"),
            cache_dir: text("cache"),
            supervisor: Some(self.supervisor.clone()),
            ..ShellConfig::default()
        };
        let runner = BuildRunner::new(options, self.supervisor.clone());
        let assignment = JobAssignment {
            job: Arc::new(JobBuilder::new(1).script(["true"]).build()),
            attempt: 1,
            observer: Arc::new(RecordingObserver::new()),
            cancellation: Cancellation::new(),
        };
        let context = RunContext {
            provider: Arc::new(executor_shell::provider(shell)),
            config: Arc::new(RunnerConfig::new("bench", "shell")),
            data: ExecutorData::new(),
            slot: JobSlot::default(),
            active: ActiveJobs::new(),
        };
        let start = Instant::now();
        let outcome = runner.run(assignment, context).await;
        let whole = start.elapsed();
        ensure!(outcome.error.is_none(), "{:?}", outcome.error);
        let stages = outcome.stages.iter();
        let ready: Duration = stages
            .filter(|report| report.stage == BuildStage::GetSources)
            .map(|report| report.duration)
            .sum();
        Ok(Took {
            ready,
            removed: whole.saturating_sub(ready),
        })
    }

    async fn sh(&self, directory: &Path, script: &str) -> anyhow::Result<()> {
        let command = Command::new("sh")
            .args(["-c", script])
            .current_dir(directory)
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .env("HOME", &self.scratch)
            .stdin(Stdin::Null);
        let tree = self.supervisor.tree();
        let mut output = Vec::new();
        let mut sink = |_: Stream, bytes: &[u8]| output.extend_from_slice(bytes);
        let process = tree.spawn(&command)?;
        let outcome = process
            .run(&mut sink, &NeverStop, &Timing::default())
            .await?;
        tree.close().await?;
        ensure!(
            outcome.success(),
            "{script}: {}",
            String::from_utf8_lossy(&output)
        );
        Ok(())
    }
}

/// Returns the path of a file: some twenty files per directory, up to five levels deep.
fn path_of(number: usize) -> PathBuf {
    let directory = number / 20;
    let mut path = PathBuf::from(format!("part{}", directory % 10));
    for level in 0..directory % 5 {
        path.push(format!("level{level}"));
    }
    path.push(format!("dir{directory}"));
    path.join(format!("file{number}.txt"))
}

/// Returns the size of a file: most are small and one in a hundred is large, as in source trees.
fn size_of(number: usize, numbers: &mut Numbers) -> usize {
    let (least, most) = match number % 100 {
        0..60 => (200, 4_000),
        60..90 => (4_000, 16_000),
        90..99 => (16_000, 64_000),
        _ => (64_000, 512_000),
    };
    least + numbers.below(most - least)
}

/// Pseudo-random numbers, the same in every run.
#[derive(Debug, Clone)]
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }

    /// Returns words that compress about as well as source text.
    fn text(&mut self, size: usize) -> String {
        let mut text = String::with_capacity(size + 16);
        while text.len() < size {
            let _ = write!(text, "word{} ", self.below(5_000));
            if self.below(10) == 0 {
                text.push('\n');
            }
        }
        text
    }
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
