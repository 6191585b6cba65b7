//! The cost that Runwright adds to the processes of a pipeline.
//!
//! `cargo bench -p benches --bench floors`. `FLOORS_ROUNDS` sets the number of rounds, 15 by default. Each round
//! measures every workload once, in sequence, so that other work on the machine affects both sides of a ratio.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::num::NonZeroUsize;
use std::time::Duration;

use benches::statistics::{median, millis, ratio};
use benches::{Bench, Workload, floor};
use tokio::runtime::Builder;

/// The number of jobs in the stage that yields the cost of each further job.
const JOBS: u32 = 50;

const GOAL_FURTHER_JOB: f64 = 4.0;
const GOAL_DAG: f64 = 2.5;

fn main() -> anyhow::Result<()> {
    let rounds = std::env::var("FLOORS_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(15);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare(rounds))
}

async fn compare(rounds: usize) -> anyhow::Result<()> {
    let width = std::thread::available_parallelism()?;
    let bench = Bench::start()?;
    let runwright = bench.runwright().await?;
    let workloads = [
        Workload::one(),
        Workload::parallel(usize::try_from(JOBS)?),
        Workload::dag(10, 10),
    ];
    let mut projects = Vec::new();
    for workload in workloads {
        projects.push((bench.project(&workload).await?, workload));
    }
    let mut times = [const { Times::NONE }; 3];
    for round in 0..=rounds {
        for ((project, workload), times) in projects.iter().zip(&mut times) {
            let command = runwright.command(&bench, project);
            let command = command.arg("--concurrency").arg(width.to_string());
            let bare = floor::run(workload, width)?;
            let ours = bench.run(&command).await?.succeeded()?.wall;
            // The first round warms up.
            if round > 0 {
                times.bare.push(bare);
                times.ours.push(ours);
            }
        }
    }
    report(rounds, width, &times);
    Ok(())
}

/// The times of one workload by rounds, as bare processes and with Runwright.
struct Times {
    bare: Vec<Duration>,
    ours: Vec<Duration>,
}

impl Times {
    const NONE: Self = Self {
        bare: Vec::new(),
        ours: Vec::new(),
    };

    fn ratio(&self) -> f64 {
        ratio(median(&self.ours), median(&self.bare))
    }
}

fn report(rounds: usize, width: NonZeroUsize, times: &[Times; 3]) {
    let [one, stage, dag] = times;
    let further = Times {
        bare: further(&one.bare, &stage.bare),
        ours: further(&one.ours, &stage.ours),
    };
    println!("{width} at a time, medians of {rounds} rounds, output read through a pipe");
    println!(
        "{:<26} {:>12} {:>12} {:>9}",
        "", "bare", "runwright", "ratio"
    );
    line("1 job", one, None);
    line(&format!("{JOBS} jobs, one stage"), stage, None);
    line("each job but the first", &further, Some(GOAL_FURTHER_JOB));
    line("100 jobs, depth 10", dag, Some(GOAL_DAG));
}

/// Returns the cost of each job after the first, by rounds.
fn further(one: &[Duration], stage: &[Duration]) -> Vec<Duration> {
    let pairs = one.iter().zip(stage);
    pairs
        .map(|(one, stage)| stage.saturating_sub(*one) / (JOBS - 1))
        .collect()
}

fn line(name: &str, times: &Times, goal: Option<f64>) {
    let (bare, ours) = (millis(median(&times.bare)), millis(median(&times.ours)));
    let ratio = times.ratio();
    let verdict = goal.map_or_else(String::new, |goal| {
        let met = if ratio <= goal { "met" } else { "NOT MET" };
        format!("   goal <= {goal}x: {met}")
    });
    println!("{name:<26} {bare:>9.2} ms {ours:>9.2} ms {ratio:>8.2}x{verdict}");
}
