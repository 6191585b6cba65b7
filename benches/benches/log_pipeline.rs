//! The way of a job's output, from a real pipe to the kept log, against `dd | dd`.
//!
//! `cargo bench -p benches --bench log_pipeline`. `LOG_MIB` sets the amount of output,
//! 1024 MiB by default; `LOG_DIR` the folder of the spool, by default a memory file
//! system where there is one. The median of the ratios compares across machines.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::disallowed_methods,
    reason = "the floor is a plain pipe between two plain processes"
)]

use std::error::Error;
use std::io::{Read, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use trace::{MaskRules, Spool, Stream, TracePipeline};

const ROUNDS: usize = 5;
const PIECE: usize = 64 * 1024;
const SECRETS: usize = 10;
/// 85 bytes with its newline.
const LINE: &str =
    "   Compiling some-package v1.2.3 (/builds/group/project/crates/some-package) [2/345]\n";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mebibytes: usize = std::env::var("LOG_MIB")
        .ok()
        .map_or(Ok(1024), |size| size.parse())?;
    let lines = (mebibytes << 20) / LINE.len();
    let folder = spool_folder()?;
    let mut floor = Vec::new();
    let mut ours = Vec::new();
    // The buffers of the first round are not growth.
    keep_log(&folder.path().join("first.log"), 1 << 16)?;
    let before = peak_kibibytes();
    for round in 0..ROUNDS {
        let path = folder.path().join(format!("{round}.log"));
        floor.push(seconds(|| copy_with_dd(lines * LINE.len()))?);
        ours.push(seconds(|| keep_log(&path, lines))?);
        // Throwing the log away is no part of its way.
        std::fs::remove_file(&path)?;
    }
    let grown = peak_kibibytes().saturating_sub(before);
    // Rounds side by side, so that noise of the machine meets both.
    let ratio = median(
        floor
            .iter()
            .zip(&ours)
            .map(|(floor, ours)| floor / ours)
            .collect(),
    );
    let (floor, ours) = (median(floor), median(ours));
    let size = gigabytes(lines * LINE.len());
    println!("{size:.2} GB of 85-byte lines, {SECRETS} secrets with variants, stamps, spool, CRC");
    println!("dd bs=64k | dd bs=64k      {:>7.3} GB/s", size / floor);
    println!(
        "pipe to kept log           {:>7.3} GB/s  {:.2}x",
        size / ours,
        floor / ours
    );
    println!("peak memory grew by        {grown:>7} KiB");
    Ok(())
}

/// Writes the lines from one thread into a pipe and keeps them from another.
fn keep_log(path: &Path, lines: usize) -> Result<()> {
    let (mut reader, mut writer) = pipe()?;
    let source = thread::spawn(move || {
        let block = LINE.repeat(PIECE * 4 / LINE.len());
        let mut left = lines * LINE.len();
        while left > 0 {
            let count = left.min(block.len());
            writer.write_all(&block.as_bytes()[..count])?;
            left -= count;
        }
        std::io::Result::Ok(())
    });
    let secrets = (0..SECRETS).map(|index| format!("s3cr3t-{index}-{:x}", index * 0x9E37_79B1));
    let trace = TracePipeline::builder()
        .masks(MaskRules::new().secrets(secrets))
        .spool(Spool::create(path)?)
        .start();
    let mut buffer = vec![0; PIECE];
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        trace.write(Stream::JOB_STDOUT, &buffer[..count]);
    }
    let summary = trace.finish();
    source.join().map_err(|_| "the writing thread panicked")??;
    let stamps = 32 * lines;
    if summary.bytes != (lines * LINE.len() + stamps) as u64 {
        return Err(format!("kept {} bytes of {lines} lines", summary.bytes).into());
    }
    Ok(())
}

fn copy_with_dd(bytes: usize) -> Result<()> {
    let blocks = format!("count={}", bytes.div_ceil(PIECE));
    let mut source = Command::new("dd")
        .args(["if=/dev/zero", "bs=64k", &blocks])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = source.stdout.take().ok_or("dd has no output")?;
    let status = Command::new("dd")
        .args(["of=/dev/null", "bs=64k"])
        .stdin(output)
        .stderr(Stdio::null())
        .status()?;
    if source.wait()?.success() && status.success() {
        Ok(())
    } else {
        Err("dd failed".into())
    }
}

/// Makes a folder in memory if the system has a place for it.
fn spool_folder() -> Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    let parent = match std::env::var_os("LOG_DIR") {
        Some(folder) => PathBuf::from(folder),
        None if memory.is_dir() => memory.to_owned(),
        None => std::env::temp_dir(),
    };
    Ok(tempfile::tempdir_in(parent)?)
}

/// Returns the largest resident memory of this process so far, 0 if unknown.
fn peak_kibibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = peak.and_then(|peak| peak.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "a size for display")]
fn gigabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e9
}
