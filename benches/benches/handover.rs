//! The time to pass 8,500 files of 220 MB from one job to the next, against `cp -a`.
//!
//! Prints the medians of storing a job's files and of providing them to a later job, through an overlay or as a copy,
//! and their ratios to the copy of the same round. All files are on a memory file system where there is one.
//! `HANDOVER_FILES=850` measures a tenth of them.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::{Context, ensure};
use benches::statistics::{median, millis, ratio};
use content_store::ContentStore;
use executor_core::job::{Artifact, Dependency};
use executor_core::{
    ActiveJobs, BuildStage, Cancellation, ExecutorData, JobAssignment, JobId, JobRunner, JobSlot,
    RunContext, RunnerConfig,
};
use executor_shell::ShellConfig;
use executor_testkit::{JobBuilder, RecordingObserver};
use job_runner::{
    ArtifactFiles, ArtifactStore, BuildRunner, BuildRunnerOptions, Snapshot, SnapshotMethod,
    Sources, StoredArtifacts,
};
use process::{Command, NeverStop, Settings, Stdin, Stream, Supervisor, Timing};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of files, unless `HANDOVER_FILES` sets another.
const FILES: usize = 8_500;
/// The average file size, which makes 220 MB in total.
const SIZE: usize = 26_000;
const ROUNDS: usize = 7;

fn main() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(compare())
}

/// One measured operation, with its times in all rounds.
#[derive(Debug)]
struct Row {
    name: &'static str,
    goal: Option<f64>,
    took: Vec<f64>,
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

    fn add(&mut self, took: Duration, copy: Duration) {
        self.took.push(millis(took));
        self.ratios.push(ratio(took, copy));
    }

    fn print(&self) {
        if self.took.is_empty() {
            return;
        }
        let goal = self
            .goal
            .map_or(String::new(), |goal| format!("  goal <= {goal}"));
        let (took, ratio) = (median(&self.took), median(&self.ratios));
        println!("  {:<38} {took:>9.2} {ratio:>8.3}{goal}", self.name);
    }
}

async fn compare() -> anyhow::Result<()> {
    let scratch = tempfile::Builder::new()
        .prefix("handover-")
        .tempdir_in(fast_dir())?;
    let files = match std::env::var("HANDOVER_FILES") {
        Ok(number) => number.parse().context("read HANDOVER_FILES")?,
        Err(_) => FILES,
    };
    let place = Place {
        supervisor: Supervisor::start(Settings::default())?,
        scratch: scratch.path().to_owned(),
    };
    let (paths, bytes) = place.results(files)?;
    let overlays = process::can_mount();
    if !overlays {
        println!("NOT MEASURED: overlays, since this process may not mount");
    }
    let mut copy = Row::new("cp -a", None);
    let mut kept = Row::new("kept, all of it new", None);
    let mut again = Row::new("kept, nothing new", None);
    let mut rows = [
        (
            SnapshotMethod::Overlay,
            Row::new("handed over, overlay, first job", Some(0.3)),
            Row::new("handed over, overlay, further job", Some(0.3)),
        ),
        (
            SnapshotMethod::Copy,
            Row::new("handed over, copy, first job", Some(1.2)),
            Row::new("handed over, copy, further job", Some(1.2)),
        ),
    ];
    for _ in 0..ROUNDS {
        let copied = place.copied().await?;
        copy.add(copied, copied);
        let store = place.store();
        kept.add(place.keep(&store, &paths).await?, copied);
        again.add(place.keep(&store, &paths).await?, copied);
        for (means, first, further) in &mut rows {
            if *means == SnapshotMethod::Overlay && !overlays {
                continue;
            }
            let [one, two] = place.jobs(&store, *means).await?;
            first.add(one, copied);
            further.add(two, copied);
        }
        process::remove_tree(&place.scratch.join("state"))?;
    }
    println!(
        "{files} files, {} MB; {ROUNDS} rounds in turn, medians in ms",
        bytes / 1_000_000
    );
    println!("  {:<38} {:>9} {:>8}", "", "took", "ratio");
    [&copy, &kept, &again].into_iter().for_each(Row::print);
    for (_, first, further) in &rows {
        first.print();
        further.print();
    }
    Ok(())
}

/// The directory of the measurement.
struct Place {
    supervisor: Supervisor,
    scratch: PathBuf,
}

impl Place {
    /// Creates the files that a job leaves, and returns their paths and total size.
    fn results(&self, files: usize) -> anyhow::Result<(Vec<PathBuf>, usize)> {
        let tree = self.scratch.join("left");
        let mut paths = Vec::new();
        let mut bytes = 0;
        let mut number: u64 = 42;
        for file in 0..files {
            let path = PathBuf::from(format!("dist/part{}/dir{}/{file}.o", file % 7, file / 25));
            // Most files are small, some are large, and no two are alike.
            let size = [SIZE / 10, SIZE / 4, SIZE / 2, SIZE * 3][file % 4];
            let mut content = Vec::with_capacity(size + 8);
            while content.len() < size {
                number = number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                content.extend_from_slice(&number.to_le_bytes());
            }
            bytes += content.len();
            let target = tree.join(&path);
            fs::create_dir_all(target.parent().context("it lies in a directory")?)?;
            fs::write(target, content)?;
            paths.push(path);
        }
        let base = self.scratch.join("base");
        fs::create_dir(&base)?;
        fs::write(base.join("Makefile"), "all:\n")?;
        Ok((paths, bytes))
    }

    fn store(&self) -> StoredArtifacts {
        let state = self.scratch.join("state");
        StoredArtifacts::new(ContentStore::at(state.join("content")), state.join("lists"))
    }

    async fn copied(&self) -> anyhow::Result<Duration> {
        let start = Instant::now();
        self.sh("cp -a left copy").await?;
        let took = start.elapsed();
        process::remove_tree(&self.scratch.join("copy"))?;
        Ok(took)
    }

    async fn keep(&self, store: &StoredArtifacts, paths: &[PathBuf]) -> anyhow::Result<Duration> {
        let files = ArtifactFiles {
            name: String::new(),
            project: self.scratch.join("left"),
            paths: paths.to_vec(),
        };
        let (archive, nobody_stops) = (Artifact::default(), Cancellation::new());
        let start = Instant::now();
        store.save(JobId(1), &archive, files, &nobody_stops).await?;
        Ok(start.elapsed())
    }

    /// Runs two jobs that get the files, after one that does not, which pays for the snapshot.
    async fn jobs(
        &self,
        store: &StoredArtifacts,
        means: SnapshotMethod,
    ) -> anyhow::Result<[Duration; 2]> {
        let snapshot = Snapshot::new(self.scratch.join("base"), self.scratch.join("snapshots"));
        let snapshot = Arc::new(snapshot.with_method(means));
        self.job(store, &snapshot, &[]).await?;
        let first = self.job(store, &snapshot, &[JobId(1)]).await?;
        let further = self.job(store, &snapshot, &[JobId(1)]).await?;
        snapshot.discard().await;
        Ok([first, further])
    }

    /// Runs one job, and returns the time for its sources and artifacts.
    async fn job(
        &self,
        store: &StoredArtifacts,
        snapshot: &Arc<Snapshot>,
        after: &[JobId],
    ) -> anyhow::Result<Duration> {
        let options = BuildRunnerOptions {
            sources: Sources::Snapshot(Arc::clone(snapshot)),
            artifacts: Some(Arc::new(store.clone())),
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
        let dependency = |id: &JobId| Dependency {
            id: *id,
            ..Dependency::default()
        };
        let look = match after {
            [] => "true",
            _ => "test -f dist/part0/dir0/0.o",
        };
        let job = JobBuilder::new(2).script([look]);
        let job = job.with(|job| job.dependencies = after.iter().map(dependency).collect());
        let assignment = JobAssignment {
            job: Arc::new(job.build()),
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
        let runner = BuildRunner::new(options, self.supervisor.clone());
        let outcome = runner.run(assignment, context).await;
        ensure!(outcome.error.is_none(), "{:?}", outcome.error);
        let brings = [BuildStage::GetSources, BuildStage::DownloadArtifacts];
        let stages = outcome.stages.iter();
        Ok(stages
            .filter(|report| brings.contains(&report.stage))
            .map(|report| report.duration)
            .sum())
    }

    async fn sh(&self, script: &str) -> anyhow::Result<()> {
        let command = Command::new("sh")
            .args(["-c", script])
            .current_dir(&self.scratch)
            .env("PATH", std::env::var("PATH").unwrap_or_default())
            .stdin(Stdin::Null);
        let tree = self.supervisor.tree();
        let mut output = Vec::new();
        let mut sink = |_: Stream, bytes: &[u8]| output.extend_from_slice(bytes);
        let process = tree.spawn(&command)?;
        let outcome = process
            .run(&mut sink, &NeverStop, &Timing::default())
            .await?;
        tree.close().await?;
        let output = String::from_utf8_lossy(&output);
        ensure!(outcome.success(), "{script}: {output}");
        Ok(())
    }
}

/// Returns a directory on a memory file system, or else the default one.
fn fast_dir() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        return memory.to_owned();
    }
    std::env::temp_dir()
}
