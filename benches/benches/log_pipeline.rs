//! The path of a job's output, from a real pipe to the stored log, against `dd | dd`.
//!
//! `cargo bench -p benches --bench log_pipeline`. `LOG_MIB` sets the amount of output, 1024 MiB by default; `LOG_DIR`
//! the folder of the spool, by default a memory file system where there is one. The median of the ratios compares
//! across machines.
//!
//! The floor uses blocks of 64 KiB on both sides, and once more the literal `dd bs=64k | dd`, where the second `dd`
//! reads 512 bytes at a time. The cost of each part is measured from memory, without the parts behind it: in a pipe
//! the two ends wait for each other, which hides concurrent work.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(
    clippy::disallowed_methods,
    reason = "the floor is a plain pipe between two plain processes"
)]

use executor_core::TraceStream;
use std::error::Error;
use std::io::{Read, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use trace::{LogFormat, MaskRules, Spool, TracePipeline};

const ROUNDS: usize = 7;
const PIECE: usize = 64 * 1024;
const SECRETS: usize = 10;
/// 85 bytes including the newline.
const LINE: &str =
    "   Compiling some-package v1.2.3 (/builds/group/project/crates/some-package) [2/345]\n";
/// The length of the timestamp before each line.
const STAMP: usize = 32;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How far the output is processed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parts {
    Masks,
    Stamps,
    Spool,
}

const PARTS: [(Parts, &str); 3] = [
    (Parts::Masks, "memory, masks, CRC"),
    (Parts::Stamps, "and stamps"),
    (Parts::Spool, "and spool"),
];

fn main() -> Result<()> {
    let mebibytes: usize = std::env::var("LOG_MIB")
        .ok()
        .map_or(Ok(1024), |size| size.parse())?;
    let lines = (mebibytes << 20) / LINE.len();
    let bytes = lines * LINE.len();
    let folder = spool_folder()?;
    let path = folder.path().join("job.log");
    let [mut floor, mut literal, mut ours] = [const { Vec::new() }; 3];
    let [mut pipes, mut files] = [const { Vec::new() }; 2];
    let mut parts = [const { Vec::new() }; PARTS.len()];
    // The buffers of the first round do not count as growth.
    keep_log(Parts::Spool, &path, lines / 16, through_pipe)?;
    let before = peak_kibibytes();
    for _ in 0..ROUNDS {
        // Alternating, so that noise of the machine affects all.
        floor.push(seconds(|| copy_with_dd(bytes, &["bs=64k"]))?);
        ours.push(keep_log(Parts::Spool, &path, lines, through_pipe)?);
        literal.push(seconds(|| copy_with_dd(bytes, &[]))?);
        pipes.push(seconds(|| through_pipe(lines, &mut |_| ()))?);
        files.push(seconds(|| write_file(&path, lines))?);
        std::fs::remove_file(&path)?;
        for ((part, _), times) in PARTS.into_iter().zip(&mut parts) {
            times.push(keep_log(part, &path, lines, |lines, take| {
                from_memory(lines, take);
                Ok(())
            })?);
        }
    }
    let grown = peak_kibibytes().saturating_sub(before);

    let size = gigabytes(bytes);
    let line = |name: &str, time: f64, note: String| {
        println!("{name:<24}{:>7.3} GB/s{note}", size / time);
    };
    println!("{size:.2} GB of 85-byte lines, {SECRETS} secrets with variants, stamps, spool, CRC");
    let all = median(ours.clone());
    line("pipe to kept log", all, String::new());
    let floors = [
        ("dd bs=64k | dd bs=64k", floor),
        ("dd bs=64k | dd", literal),
    ];
    for (name, floor) in floors {
        let ratios = floor.iter().zip(&ours).map(|(floor, ours)| floor / ours);
        let note = format!("  ours runs at {:.2}x of it", median(ratios.collect()));
        line(name, median(floor), note);
    }
    println!("The parts, by the bytes that came:");
    line("pipe alone", median(pipes), String::new());
    line("file alone", median(files), String::new());
    let times = parts.map(median);
    let mut before_it = 0.0;
    for ((_, name), time) in PARTS.into_iter().zip(times) {
        let share = 100.0 * (time - before_it) / times[PARTS.len() - 1];
        line(name, time, format!("  adds {share:.0} %"));
        before_it = time;
    }
    println!("peak memory grew by     {grown:>7} KiB");
    Ok(())
}

/// Writes the lines to a log and returns the time in seconds.
fn keep_log(
    parts: Parts,
    path: &Path,
    lines: usize,
    bring: impl Fn(usize, &mut dyn FnMut(&[u8])) -> Result<()>,
) -> Result<f64> {
    let seconds = seconds(|| {
        let trace = start_trace(parts, path)?;
        bring(lines, &mut |piece| trace.write(TraceStream::STDOUT, piece))?;
        let kept = trace.finish().bytes;
        let stamp = if parts == Parts::Masks { 0 } else { STAMP };
        if kept == (lines * (stamp + LINE.len())) as u64 {
            Ok(())
        } else {
            Err(format!("kept {kept} bytes of {lines} lines").into())
        }
    })?;
    // Removing the log is not part of the measurement.
    if parts == Parts::Spool {
        std::fs::remove_file(path)?;
    }
    Ok(seconds)
}

fn start_trace(parts: Parts, path: &Path) -> Result<TracePipeline> {
    let secrets = (0..SECRETS).map(|index| format!("s3cr3t-{index}-{:x}", index * 0x9E37_79B1));
    let trace = TracePipeline::builder().masks(MaskRules::new().secrets(secrets));
    let trace = match parts {
        Parts::Masks => trace.format(LogFormat::Plain),
        Parts::Stamps => trace,
        Parts::Spool => trace.spool(Spool::create(path)?),
    };
    Ok(trace.start())
}

/// Writes the lines into a pipe from one thread and reads them in another.
fn through_pipe(lines: usize, take: &mut dyn FnMut(&[u8])) -> Result<()> {
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
    let mut buffer = vec![0; PIECE];
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        take(&buffer[..count]);
    }
    source.join().map_err(|_| "the writing thread panicked")??;
    Ok(())
}

/// Passes the lines in pieces as large as those of a pipe, without the pipe.
fn from_memory(lines: usize, take: &mut dyn FnMut(&[u8])) {
    let block = LINE.repeat(PIECE / LINE.len() + 2);
    let bytes = lines * LINE.len();
    let mut taken = 0;
    while taken < bytes {
        let start = taken % LINE.len();
        let count = PIECE.min(bytes - taken);
        take(&block.as_bytes()[start..start + count]);
        taken += count;
    }
}

/// Writes as many bytes into a file as the log has with its timestamps.
fn write_file(path: &Path, lines: usize) -> Result<()> {
    let block = LINE.repeat(PIECE / LINE.len());
    let mut left = lines * (STAMP + LINE.len());
    let mut file = std::fs::File::create_new(path)?;
    while left > 0 {
        let count = left.min(block.len());
        file.write_all(&block.as_bytes()[..count])?;
        left -= count;
    }
    Ok(())
}

/// Sends the bytes from one `dd` to another with the given options for reading.
fn copy_with_dd(bytes: usize, reading: &[&str]) -> Result<()> {
    let blocks = format!("count={}", bytes.div_ceil(PIECE));
    let mut source = Command::new("dd")
        .args(["if=/dev/zero", "bs=64k", &blocks])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = source.stdout.take().ok_or("dd has no output")?;
    let status = Command::new("dd")
        .arg("of=/dev/null")
        .args(reading)
        .stdin(output)
        .stderr(Stdio::null())
        .status()?;
    if source.wait()?.success() && status.success() {
        Ok(())
    } else {
        Err("dd failed".into())
    }
}

/// Creates a folder in memory if the system has a memory file system.
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
