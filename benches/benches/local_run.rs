//! One trivial job through the whole program, against a bare `bash -c true`.
//!
//! `cargo bench -p benches --bench local_run`. Prints the medians of both, their ratio, and the peak memory of our
//! process.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use benches::statistics::{mebibytes, median, millis, ratio};
use benches::{Bench, Workload};
use tokio::runtime::Builder;

const ROUNDS: usize = 60;
const WARM_UP: usize = 5;
const GOAL_RATIO: f64 = 10.0;
const GOAL_RSS: u64 = 15 << 20;

fn main() -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare())
}

async fn compare() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let runwright = bench.runwright().await?;
    let project = bench.project(&Workload::one()).await?;
    let bash = bench.command("bash").args(["-c", "true"]);
    let run = runwright.command(&bench, &project);

    let (mut floors, mut runs, mut ratios, mut peak) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for round in 0..WARM_UP + ROUNDS {
        let floor = bench.run(&bash).await?.succeeded()?;
        let ours = bench.run(&run).await?.succeeded()?;
        if round >= WARM_UP {
            floors.push(floor.wall);
            runs.push(ours.wall);
            ratios.push(ratio(ours.wall, floor.wall));
            peak = peak.max(ours.peak);
        }
    }

    println!("one trivial job, {ROUNDS} rounds in turn, medians");
    println!("  bash -c true   {:>8.2} ms", millis(median(&floors)));
    println!("  runwright run  {:>8.2} ms", millis(median(&runs)));
    println!(
        "  ratio          {:>8.2}     goal <= {GOAL_RATIO}",
        median(&ratios)
    );
    println!(
        "  peak memory    {:>8.2} MiB   goal <= {} MiB",
        mebibytes(peak),
        GOAL_RSS >> 20
    );
    Ok(())
}
