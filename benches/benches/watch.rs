//! From a save to the start of the affected job, against `runwright run` from its start to that of the same job, plus
//! the time a watch waits for quiet.
//!
//! `cargo bench -p benches --bench watch`. Prints the medians of both and their ratio.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::{Context, bail};
use benches::statistics::{median, millis, ratio};
use benches::{Bench, Project};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::runtime::Builder;

const ROUNDS: usize = 20;
const WARM_UP: usize = 2;
/// The time without changes after which a watch reacts.
const QUIET: Duration = Duration::from_millis(40);
const GOAL_RATIO: f64 = 1.5;

fn main() -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(compare())
}

async fn compare() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let runwright = bench.runwright().await?;
    let yaml = "job: {script: ['echo $EPOCHREALTIME >$MARK.new', 'mv $MARK.new $MARK']}";
    let project = bench.project_of(yaml).await?;
    let mark = project.root().join(".git/mark");
    let variable = format!("MARK={}", mark.display());
    let home = project.root().join(".git/runwright-state");
    let tool = |arguments: &[&str]| {
        let tool = runwright.clone().env("RUNWRIGHT_HOME", &home);
        tool.run_with(&[arguments, &["--variable", &variable]].concat())
    };

    let run = tool(&["run"]).command(&bench, &project);
    let mut floors = Vec::new();
    for round in 0..WARM_UP + ROUNDS {
        let begun = SystemTime::now();
        bench.run(&run).await?.succeeded()?;
        if round >= WARM_UP {
            floors.push(take(&mark)?.duration_since(begun)? + QUIET);
        }
    }
    let watch = tool(&["watch"]).command(&bench, &project);
    let saves = tokio::select! {
        saves = saves(&project, mark) => saves?,
        ended = bench.run_within(&watch, Duration::from_mins(5)) => {
            bail!("the watch has ended: {}", ended?.last_words());
        }
    };

    println!("a save, to the start of the job it touches: {ROUNDS} rounds, medians");
    println!("  run and quiet  {:>8.2} ms", millis(median(&floors)));
    println!("  watch          {:>8.2} ms", millis(median(&saves)));
    println!(
        "  ratio          {:>8.2}     goal <= {GOAL_RATIO}",
        ratio(median(&saves), median(&floors))
    );
    Ok(())
}

/// Saves a file repeatedly, and returns the delay until the job starts.
async fn saves(project: &Project, mark: PathBuf) -> anyhow::Result<Vec<Duration>> {
    let mut saves = Vec::new();
    wait_for(&mark).await?;
    for round in 0..WARM_UP + ROUNDS {
        // Lets the previous round finish, so that the watch waits again.
        tokio::time::sleep(Duration::from_millis(500)).await;
        take(&mark)?;
        let begun = SystemTime::now();
        fs::write(project.root().join("saved"), round.to_string())?;
        wait_for(&mark).await?;
        if round >= WARM_UP {
            let at = fs::read_to_string(&mark)?;
            saves.push(time(&at)?.duration_since(begun)?);
        }
    }
    Ok(saves)
}

async fn wait_for(mark: &Path) -> anyhow::Result<()> {
    for _ in 0..60_000 {
        if mark.exists() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    bail!("no job began within a minute")
}

/// Returns when the job started, and removes the mark.
fn take(mark: &Path) -> anyhow::Result<SystemTime> {
    let text = fs::read_to_string(mark).context("no job began")?;
    fs::remove_file(mark)?;
    time(&text)
}

fn time(text: &str) -> anyhow::Result<SystemTime> {
    let seconds: f64 = text.trim().replace(',', ".").parse()?;
    Ok(UNIX_EPOCH + Duration::from_secs_f64(seconds))
}
