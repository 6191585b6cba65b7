//! The time to pack and unpack 8,500 files, against Info-ZIP's `zip -6` and `unzip`.
//!
//! Prints the medians and their ratios within the same round, each row after its peer. All files are on a memory file
//! system where there is one. `ARCHIVE_FILES=500` measures small trees.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::disallowed_methods,
    reason = "the peers are programs of their own"
)]

use anyhow::{Context, ensure};
use archive::{Format, Level, Limits, Packing, pack, unpack};
use benches::statistics::{mebibytes, median, millis, ratio};
use executor_core::Cancellation;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The number of files, unless `ARCHIVE_FILES` sets another.
const FILES: usize = 8_500;
const ROUNDS: usize = 5;

/// One way of packing, with its times in all rounds.
#[derive(Debug)]
struct Row {
    format: Format,
    level: Level,
    name: &'static str,
    /// The required speed relative to the peer, for packing and unpacking.
    goals: [Option<f64>; 2],
    size: u64,
    packed: Vec<f64>,
    unpacked: Vec<f64>,
    times: [Vec<f64>; 2],
}

impl Row {
    fn new(format: Format, level: Level, name: &'static str, goals: [Option<f64>; 2]) -> Self {
        Self {
            format,
            level,
            name,
            goals,
            size: 0,
            packed: Vec::new(),
            unpacked: Vec::new(),
            times: Default::default(),
        }
    }

    fn print(&self) {
        let goal = |goal: Option<f64>| goal.map_or(String::new(), |goal| format!(">= {goal}"));
        println!(
            "  {:<22} {:>6.1} {:>9.0} {:>7.2} {:<7} {:>9.0} {:>7.2} {:<7}",
            self.name,
            mebibytes(self.size),
            median(&self.times[0]),
            median(&self.packed),
            goal(self.goals[0]),
            median(&self.times[1]),
            median(&self.unpacked),
            goal(self.goals[1]),
        );
    }
}

fn main() -> anyhow::Result<()> {
    let scratch = tempfile::Builder::new()
        .prefix("archive-")
        .tempdir_in(fast_dir())?;
    let files = match std::env::var("ARCHIVE_FILES") {
        Ok(number) => number.parse().context("read ARCHIVE_FILES")?,
        Err(_) => FILES,
    };
    let tree = scratch.path().join("tree");
    let (paths, bytes) = write_tree(&tree, files)?;
    let mut rows = [
        Row::new(
            Format::Zip,
            Level::Default,
            "zip, level 6",
            [Some(1.6), Some(1.8)],
        ),
        Row::new(
            Format::ZipZstd,
            Level::Default,
            "zipzstd",
            [Some(8.0), None],
        ),
        Row::new(
            Format::TarZstd,
            Level::Default,
            "tarzstd",
            [Some(8.0), None],
        ),
        Row::new(
            Format::TarZstd,
            Level::Fastest,
            "tarzstd, fastest",
            [Some(8.0), None],
        ),
    ];
    let mut peers: [Vec<f64>; 2] = Default::default();
    let mut peer_size = 0;
    for _ in 0..ROUNDS {
        let file = scratch.path().join("peer.zip");
        let packed = timed(|| sh(&tree, "zip -6 -qry ../peer.zip ."))?;
        peer_size = fs::metadata(&file)?.len();
        let into = scratch.path().join("into");
        fs::create_dir(&into)?;
        let unpacked = timed(|| sh(&into, "unzip -q ../peer.zip"))?;
        fs::remove_dir_all(&into)?;
        fs::remove_file(&file)?;
        peers[0].push(millis(packed));
        peers[1].push(millis(unpacked));
        for row in &mut rows {
            let ours = measure(row, &tree, &paths, scratch.path())?;
            row.packed.push(ratio(packed, ours[0]));
            row.unpacked.push(ratio(unpacked, ours[1]));
            row.times[0].push(millis(ours[0]));
            row.times[1].push(millis(ours[1]));
        }
    }
    println!(
        "{files} files, {:.0} MiB; {ROUNDS} rounds in turn, medians in ms, ratios to the peer (more is faster)",
        mebibytes(bytes)
    );
    println!(
        "  {:<22} {:>6} {:>9} {:>15} {:>9}",
        "", "MiB", "pack", "", "unpack"
    );
    println!(
        "  {:<22} {:>6.1} {:>9.0} {:>15} {:>9.0}",
        "zip -6, unzip",
        mebibytes(peer_size),
        median(&peers[0]),
        "",
        median(&peers[1])
    );
    rows.iter().for_each(Row::print);
    Ok(())
}

/// Packs and unpacks once.
fn measure(
    row: &mut Row,
    tree: &Path,
    paths: &[PathBuf],
    scratch: &Path,
) -> anyhow::Result<[Duration; 2]> {
    let (file, into) = (scratch.join("ours"), scratch.join("into"));
    let packing = Packing {
        format: row.format,
        level: row.level,
        ..Packing::default()
    };
    let never = Cancellation::new();
    let packed = timed(|| {
        row.size = pack(tree, paths, &file, &packing, &never)?.size;
        Ok(())
    })?;
    let unpacked = timed(|| {
        unpack(&file, &into, &Limits::default(), &never)?;
        Ok(())
    })?;
    fs::remove_dir_all(&into)?;
    fs::remove_file(&file)?;
    Ok([packed, unpacked])
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn sh(directory: &Path, script: &str) -> anyhow::Result<()> {
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(directory)
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{script}: {told}");
    Ok(())
}

/// Writes files of many sizes, and returns their paths and total size.
fn write_tree(tree: &Path, files: usize) -> anyhow::Result<(Vec<PathBuf>, u64)> {
    let mut numbers = Numbers(42);
    let (mut paths, mut bytes) = (Vec::new(), 0);
    for number in 0..files {
        let directory = number / 20;
        let path = PathBuf::from(format!(
            "part{}/dir{directory}/file{number}.txt",
            directory % 10
        ));
        let size = match number % 100 {
            0..60 => 2_000,
            60..90 => 12_000,
            90..99 => 60_000,
            _ => 1_500_000,
        };
        let text = numbers.text(size / 2 + numbers.clone().below(size));
        let file = tree.join(&path);
        fs::create_dir_all(file.parent().context("it lies in a directory")?)?;
        bytes += text.len() as u64;
        fs::write(file, text)?;
        paths.push(path);
    }
    Ok((paths, bytes))
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
