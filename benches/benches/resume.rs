//! Resuming a pipeline of 1,000 jobs that was killed when half of them had finished: from the start of the program to
//! the first new job, against a bare `bash -c true`.
//!
//! `cargo bench -p benches --bench resume`. The pipeline runs once as a whole. Each round gets the journal of that
//! run, cut at the end of half of its jobs, as a killed process would leave it.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::{Context, ensure};
use benches::statistics::{median, millis, ratio};
use benches::{Bench, Tool};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Builder;

const JOBS: usize = 1000;
const ROUNDS: usize = 15;
const WARM_UP: usize = 2;
const GOAL_RATIO: f64 = 60.0;

fn main() -> anyhow::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compare())
}

async fn compare() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let runwright = bench.runwright().await?;
    let project = bench.project_of(&pipeline()).await?;
    let home = project.root().join(".git/runwright-state");
    let mark = project.root().join(".git/first-job");
    let whole = of_home(runwright.clone(), &home, &["run"]);
    bench
        .run(&whole.command(&bench, &project))
        .await?
        .succeeded()?;
    let run = only_run(&home)?;
    let journal = run.join("journal.jsonl");
    let half = half_of(&fs::read_to_string(&journal)?)?;

    let bash = bench.command("bash").args(["-c", "true"]);
    let again = of_home(runwright, &home, &["resume", "1"]);
    let again = again.command(&bench, &project);
    let (mut floors, mut firsts, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        fs::write(&journal, &half)?;
        for life in 2..=WARM_UP + ROUNDS + 1 {
            let _ = fs::remove_dir_all(run.join("logs").join(life.to_string()));
        }
        let _ = fs::remove_file(&mark);
        let floor = bench.run(&bash).await?.succeeded()?;
        let begun = SystemTime::now();
        bench.run(&again).await?.succeeded()?;
        let first = first_job(&mark)?.duration_since(begun)?;
        if round >= WARM_UP {
            floors.push(floor.wall);
            firsts.push(first);
            ratios.push(ratio(first, floor.wall));
        }
    }
    println!(
        "resume of {JOBS} jobs, half finished, to the first new job: {ROUNDS} rounds, medians"
    );
    println!("  bash -c true      {:>8.2} ms", millis(median(&floors)));
    println!("  runwright resume  {:>8.2} ms", millis(median(&firsts)));
    println!(
        "  ratio             {:>8.2}     goal <= {GOAL_RATIO}",
        median(&ratios)
    );
    Ok(())
}

/// Returns a pipeline whose first job records when it starts.
fn pipeline() -> String {
    let mut text = String::new();
    for number in 0..JOBS {
        let _ = writeln!(
            text,
            "job-{number}: {{script: ['test -e $FIRST_JOB || echo $EPOCHREALTIME >$FIRST_JOB']}}"
        );
    }
    text
}

fn of_home(tool: Tool, home: &Path, arguments: &[&str]) -> Tool {
    let mark = home.with_file_name("first-job");
    let variable = format!("FIRST_JOB={}", mark.display());
    let mut all = arguments.to_vec();
    if arguments == ["run"] {
        all.extend(["--variable", &variable]);
    }
    tool.env("RUNWRIGHT_HOME", home).run_with(&all)
}

fn only_run(home: &Path) -> anyhow::Result<PathBuf> {
    let mut projects = fs::read_dir(home.join("projects"))?;
    let project = projects.next().context("no project in the state")??;
    Ok(project.path().join("pipelines/1"))
}

/// Returns the journal up to the end of half of the jobs.
fn half_of(journal: &str) -> anyhow::Result<String> {
    let mut finished = 0;
    let lines = journal.split_inclusive('\n').take_while(|line| {
        let goes_on = finished < JOBS / 2;
        finished += usize::from(line.contains("\"type\":\"job_finished\""));
        goes_on
    });
    let half: String = lines.collect();
    ensure!(
        half.len() < journal.len(),
        "the journal tells of too few jobs"
    );
    Ok(half)
}

fn first_job(mark: &Path) -> anyhow::Result<SystemTime> {
    let text = fs::read_to_string(mark).context("no job began")?;
    let seconds: f64 = text.trim().replace(',', ".").parse()?;
    Ok(UNIX_EPOCH + Duration::from_secs_f64(seconds))
}
