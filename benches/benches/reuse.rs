//! Replaying a pipeline of 100 jobs in a tree of 10,000 files, against running it and against a bare `list`.
//!
//! `cargo bench -p benches --bench reuse`. Prints the medians, and the cost of a replayed job.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use benches::statistics::{median, millis, ratio};
use benches::{Bench, Tool};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Builder;

const JOBS: u32 = 100;
const FILES: usize = 10_000;
const ROUNDS: usize = 15;
const WARM_UP: usize = 2;
const GOAL_RATIO: f64 = 2.0;

fn main() -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare())
}

async fn compare() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let runwright = bench.runwright().await?;
    let project = bench.project_of(&pipeline()).await?;
    let home = project.root().join(".git/runwright-state");
    for file in 0..FILES {
        let directory = project.root().join(format!("src/{}", file / 100));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(file.to_string()), file.to_string())?;
    }
    let [list, run, reuse] = [&["list"][..], &["run"], &["run", "--reuse"]].map(|arguments| {
        let tool = of_home(runwright.clone(), &home, arguments);
        tool.command(&bench, &project)
    });
    // The digest of a file that was just written is not cached, so the files must age first.
    std::thread::sleep(Duration::from_secs(5));
    let (mut lists, mut runs, mut reused) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let listed = bench.run(&list).await?.succeeded()?;
        let ran = bench.run(&run).await?.succeeded()?;
        let took = bench.run(&reuse).await?.succeeded()?;
        if round >= WARM_UP {
            lists.push(listed.wall);
            runs.push(ran.wall);
            reused.push(took.wall);
        }
    }
    let [list, run, reuse] = [&lists, &runs, &reused].map(|times| median(times));
    let each = reuse.saturating_sub(list) / JOBS;
    println!("{JOBS} jobs, {FILES} files, {ROUNDS} rounds in turn, medians");
    println!("  list           {:>8.2} ms", millis(list));
    println!("  run            {:>8.2} ms", millis(run));
    println!("  run --reuse    {:>8.2} ms", millis(reuse));
    println!(
        "  against list   {:>8.2}     goal <= {GOAL_RATIO}",
        ratio(reuse, list)
    );
    println!("  a reused job   {:>8.2} ms", millis(each));
    Ok(())
}

/// Returns a pipeline whose jobs pass files to others.
fn pipeline() -> String {
    let mut text = String::from("stages: [first, second]\n");
    for job in 0..JOBS {
        let stage = if job < JOBS / 2 { "first" } else { "second" };
        let needs = match job.checked_sub(JOBS / 2) {
            Some(need) => format!("job-{need}"),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "job-{job}: {{stage: {stage}, needs: [{needs}], script: [echo {job} >out-{job}], \
             artifacts: {{paths: [out-{job}]}}}}"
        );
    }
    text
}

fn of_home(tool: Tool, home: &Path, arguments: &[&str]) -> Tool {
    tool.run_with(arguments).env("RUNWRIGHT_HOME", home)
}
