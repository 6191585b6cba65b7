//! A long log, against `docker exec` with the same output to a pipe.

use crate::means::{Opened, address, against, engine, heading, row};
use anyhow::Context as _;
use benches::statistics::{mebibytes, ratio};
use benches::{Bench, statistics::median};
use executor_core::{JobTrace, TraceStream};
use executor_docker::config::EngineChoice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const ROUNDS: usize = 7;
const GOAL: f64 = 1.3;
const BYTES: u64 = 100_000_000;
/// The output consists of lines of a hundred bytes.
const PREPARE: &str = "line=$(printf %099d 0); yes $line | head -c 1000000 >/tmp/part; i=0; \
    while [ $i -lt 100 ]; do cat /tmp/part; i=$((i+1)); done >/tmp/log\n";
const SHOW: &str = "cat /tmp/log\n";

/// Counts the bytes written, and discards them.
#[derive(Debug, Default)]
struct Count(AtomicU64);

impl JobTrace for Count {
    fn write(&self, stream: TraceStream, data: &[u8]) {
        if stream == TraceStream::STDOUT {
            self.0.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
    }
    fn idle(&self, _: TraceStream) {}
    fn add_mask(&self, _: &str) {}
}

pub(crate) async fn measure() -> anyhow::Result<()> {
    heading(&format!(
        "{} MB of log, {ROUNDS} rounds in turn, medians",
        BYTES / 1_000_000
    ));
    for (name, choice) in [
        ("engine agent", EngineChoice::Agent),
        ("engine exec", EngineChoice::Exec),
    ] {
        let count = Arc::new(Count::default());
        let mut job = Opened::new(choice, false, Arc::clone(&count) as Arc<dyn JobTrace>).await?;
        let compared = compare(name, &mut job, &count).await;
        job.close().await?;
        compared?;
    }
    Ok(())
}

async fn compare(name: &str, job: &mut Opened, count: &Count) -> anyhow::Result<()> {
    let container = job.container(&engine().await?).await?;
    let bench = Bench::start()?;
    let docker = bench.command("docker").args([
        "--host",
        &address()?,
        "exec",
        &container,
        "cat",
        "/tmp/log",
    ]);
    job.run(PREPARE).await?;
    let (mut floors, mut times, mut ratios, mut grown) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let floor = bench.run(&docker).await?.succeeded()?.wall;
        let before = resident("VmRSS:")?;
        // Resets the kernel's peak of resident memory.
        std::fs::write("/proc/self/clear_refs", "5")?;
        count.0.store(0, Ordering::Relaxed);
        let begin = Instant::now();
        job.run(SHOW).await?;
        let time = begin.elapsed();
        let bytes = count.0.load(Ordering::Relaxed);
        anyhow::ensure!(bytes == BYTES, "{bytes} bytes came");
        if round > 0 {
            floors.push(floor);
            times.push(time);
            ratios.push(ratio(time, floor));
            grown.push(resident("VmHWM:")?.saturating_sub(before));
        }
    }
    row("docker exec to a pipe", &floors);
    against(name, &times, &ratios, GOAL);
    println!(
        "  {:<44} {:>9.2} MiB",
        "  memory of the runner grew by",
        mebibytes(median(&grown))
    );
    Ok(())
}

fn resident(name: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = value.and_then(|value| value.split_ascii_whitespace().next());
    Ok(kib.context("the kernel says how much")?.parse::<u64>()? * 1024)
}
