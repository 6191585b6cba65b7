//! The language: reading pipeline files, with whole commands and with the YAML reader alone.
//!
//! `cargo bench -p benches --bench language`. Arguments after `--` select parts by name: `list`, `peak`, `lint`,
//! `loader`, `plan`. The peer is installed on first use; `--no-peers` omits it. `LANGUAGE_ROUNDS` sets the number of
//! rounds, 15 by default; the peer runs in a third of them. The exit code is 1 when the peer was requested and could
//! not be measured.
//!
//! Work inside of this process is measured as CPU time of this thread, which excludes other work on the machine.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use benches::statistics::{median, millis, ratio};
use benches::{Bench, Contest, Tool, Workload, peer, processor_time, table};
use pipeline::context::PipelineContext;
use pipeline::repository::NoRepository;
use pipeline::{Creation, Pipeline, Plan, ResolvedPipeline, Selection, create};
use tokio::runtime::Builder;
use yaml::{Limits, LoadedFile};

const FEW: usize = 1_000;
const MANY: usize = 10_000;

const FILE: &str = ".gitlab-ci.yml";

/// Some 25 jobs with common keywords, in 300 lines.
const ORDINARY: &str = include_str!("../data/ordinary.gitlab-ci.yml");

const GOAL_LIST: f64 = 100.0;
const GOAL_GROWTH: f64 = 12.0;
const GOAL_PEAK: u64 = 80_000_000;
const GOAL_EVENTS: f64 = 0.8;
const GOAL_VALUE: f64 = 1.3;
const GOAL_LINT: f64 = 8.0;

fn main() -> anyhow::Result<ExitCode> {
    let rounds = std::env::var("LANGUAGE_ROUNDS").ok();
    let rounds = rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(15);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let all_measured = runtime.block_on(compare(rounds))?;
    Ok(ExitCode::from(u8::from(!all_measured)))
}

/// Prints all rows; returns false if the peer is not available.
async fn compare(rounds: usize) -> anyhow::Result<bool> {
    let bench = Bench::start()?;
    let ours = bench.runwright().await?;
    println!("{rounds} rounds in turn, medians; ratios by rounds");
    let (few, many) = (Workload::list(FEW), Workload::list(MANY));
    // Child processes come first, because their peak memory includes what this process used before.
    if is_wanted("peak") {
        peak(&bench, &ours, &many).await?;
    }
    if is_wanted("lint") {
        lint(&bench, &ours, rounds).await?;
    }
    let has_peer = !is_wanted("list") || list(&bench, ours, few.clone(), rounds).await?;
    if is_wanted("loader") {
        loader(&few, rounds)?;
        loader(&many, rounds)?;
    }
    if is_wanted("plan") {
        planning(&few.yaml(), &many.yaml(), rounds)?;
    }
    Ok(has_peer)
}

/// Returns whether a part was selected; without arguments all are.
fn is_wanted(part: &str) -> bool {
    let words = std::env::args().skip(1);
    let mut words = words.filter(|word| !word.starts_with("--")).peekable();
    words.peek().is_none() || words.any(|word| word == part)
}

/// Prints a line with its goal; `is_met` is whether the goal is met.
fn show(what: &str, figures: &str, goal: &str, is_met: bool) {
    let verdict = if is_met { "met" } else { "NOT MET" };
    println!("{what:<38} {figures}  goal {goal}: {verdict}");
}

/// From text to plan.
fn planning(few: &str, many: &str, rounds: usize) -> anyhow::Result<()> {
    let (mut fews, mut manys, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (few, many) = (timed(|| plan(few))?, timed(|| plan(many))?);
        if round > 0 {
            fews.push(few);
            manys.push(many);
            ratios.push(ratio(many, few));
        }
    }
    let growth = median(&ratios);
    let (few, many) = (millis(median(&fews)), millis(median(&manys)));
    show(
        "load, resolve, plan: 1,000 and 10,000",
        &format!("{few:.1} ms, {many:.1} ms, {growth:.1}x"),
        &format!("<= {GOAL_GROWTH}x"),
        growth <= GOAL_GROWTH,
    );
    Ok(())
}

/// Returns the plan together with the values it derives from, so that dropping them is not measured.
fn plan(text: &str) -> anyhow::Result<(Pipeline, ResolvedPipeline, Creation, Plan)> {
    let (pipeline, mut diagnostics) = Pipeline::from_text(FILE, text)
        .into_result()
        .map_err(|found| anyhow::anyhow!("the generated file is invalid: {found}"))?;
    let resolved = pipeline.resolve(&mut diagnostics);
    ensure!(!diagnostics.has_errors(), "the generated file is invalid");
    let context = PipelineContext::default();
    let creation = create(&resolved, &context, &NoRepository);
    let plan = Plan::new(&creation, context, &Selection::default())?;
    Ok((pipeline, resolved, creation, plan))
}

/// The YAML reader up to the finished tree, against every event of the parser with its location. Dropping the tree is
/// not measured, because the parser builds none.
fn loader(workload: &Workload, rounds: usize) -> anyhow::Result<()> {
    let text = &workload.yaml();
    let (mut ours, mut events, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let tree = timed(|| {
            let loaded = LoadedFile::from_text(FILE, text, &Limits::default());
            black_box(loaded.value).context("the generated file is no YAML")
        })?;
        let event = timed(|| {
            let mut parser = saphyr_parser::Parser::new_from_str(text);
            parser.try_for_each(|event| event.map(|event| drop(black_box(event))))
        })?;
        let value = timed(|| serde_yaml::from_str::<serde_yaml::Value>(text).map(black_box))?;
        if round > 0 {
            ours.push(tree);
            events.push(ratio(event, tree));
            values.push(ratio(value, tree));
        }
    }
    let jobs = workload.jobs().len();
    let speed = as_f64(text.len()) / median(&ours).as_secs_f64() / 1e6;
    let (events, values) = (median(&events), median(&values));
    show(
        &format!("loader, {jobs} jobs: saphyr-parser events"),
        &format!("{speed:.1} MB/s, {events:.2}x"),
        &format!(">= {GOAL_EVENTS}x"),
        events >= GOAL_EVENTS,
    );
    show(
        &format!("loader, {jobs} jobs: serde_yaml Value"),
        &format!("{speed:.1} MB/s, {values:.2}x"),
        &format!(">= {GOAL_VALUE}x"),
        values >= GOAL_VALUE,
    );
    Ok(())
}

/// Returns the duration of a step; its result is dropped after the measurement.
fn timed<T, E>(step: impl FnOnce() -> Result<T, E>) -> Result<Duration, E> {
    let start = processor_time();
    let _made = step()?;
    Ok(processor_time().saturating_sub(start))
}

async fn peak(bench: &Bench, ours: &Tool, many: &Workload) -> anyhow::Result<()> {
    let project = bench.project(many).await?;
    let command = ours.clone().run_with(&["plan"]).command(bench, &project);
    let run = bench.run(&command).await?.succeeded()?;
    show(
        "plan of 10,000: peak memory",
        &format!("{:.1} MB", as_megabytes(run.peak)),
        &format!("<= {} MB", as_megabytes(GOAL_PEAK)),
        run.peak <= GOAL_PEAK,
    );
    Ok(())
}

async fn lint(bench: &Bench, ours: &Tool, rounds: usize) -> anyhow::Result<()> {
    let project = bench.project_of(ORDINARY).await?;
    let lint = ours.clone().run_with(&["lint"]).command(bench, &project);
    let bash = bench.command("bash").args(["-c", "true"]);
    let (mut lints, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // Each takes a few milliseconds, so noise calls for more rounds.
    for round in 0..=rounds * 4 {
        let floor = bench.run(&bash).await?.succeeded()?;
        let linted = bench.run(&lint).await?.succeeded()?;
        if round > 0 {
            lints.push(linted.wall);
            floors.push(floor.wall);
            ratios.push(ratio(linted.wall, floor.wall));
        }
    }
    let times = median(&ratios);
    let (ours, floor) = (millis(median(&lints)), millis(median(&floors)));
    show(
        "lint of 300 lines: bash -c true",
        &format!("{ours:.2} ms, {floor:.2} ms, {times:.2}x"),
        &format!("<= {GOAL_LINT}x"),
        times <= GOAL_LINT,
    );
    Ok(())
}

/// The list of a thousand jobs; false if the peer is not available.
async fn list(bench: &Bench, ours: Tool, few: Workload, rounds: usize) -> anyhow::Result<bool> {
    let mut contest = Contest::new(few, ours);
    let mut missing = Vec::new();
    if std::env::args().all(|argument| argument != "--no-peers") {
        let peer = peer::gitlab_ci_local(bench).await;
        match peer.tool {
            Ok(tool) => contest = contest.against(tool).goal(peer.name, GOAL_LIST),
            Err(error) => missing.push(format!("{} is NOT MEASURED: {error:#}", peer.name)),
        }
    }
    let results = contest.hold(bench, rounds.div_ceil(3)).await?;
    print!("{}", table(contest.name(), &results, &missing));
    Ok(missing.is_empty())
}

fn as_megabytes(bytes: u64) -> f64 {
    as_f64(usize::try_from(bytes).unwrap_or(usize::MAX)) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn as_f64(count: usize) -> f64 {
    count as f64
}
