//! The cost of expectations and of the warning about changed tracked files.
//!
//! `cargo bench -p benches --bench expect`. Prints the medians: of a forecast for 10,000 jobs, and of runs in a tree
//! of 50,000 files with and without the warning.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::ensure;
use benches::statistics::{median, millis, ratio};
use benches::{Bench, processor_time};
use executor_core::job::JobDefinition;
use jiff::Timestamp;
use pipeline::context::PipelineContext;
use pipeline::repository::NoRepository;
use pipeline::{Plan, ResolvedJob, ResolvedPipeline, Selection, create};
use pipeline_insight::forecast::Forecast;
use std::fs;
use std::num::NonZeroU32;
use std::time::Duration;
use tokio::runtime::Builder;

const JOBS: usize = 10_000;
const STAGES: usize = 100;
const FILES: usize = 50_000;
const ROUNDS: usize = 15;
const WARM_UP: usize = 2;
/// The footer is drawn ten times a second, and half of that time is left for other work.
const GOAL_LOOK: Duration = Duration::from_millis(50);
const GOAL_RATIO: f64 = 1.5;

fn main() -> anyhow::Result<()> {
    look_ahead()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(warn())
}

/// Forecasts a plan in its initial state.
fn look_ahead() -> anyhow::Result<()> {
    let jobs = (0..JOBS).map(|at| JobDefinition {
        name: format!("job {at}"),
        stage: (at * STAGES / JOBS).to_string(),
        script: Some(vec!["true".to_owned()]),
        ..JobDefinition::default()
    });
    let pipeline = ResolvedPipeline {
        stages: (0..STAGES).map(|stage| stage.to_string()).collect(),
        jobs: jobs.map(ResolvedJob::from).collect(),
        ..ResolvedPipeline::default()
    };
    let context = PipelineContext::default();
    let creation = create(&pipeline, &context, &NoRepository);
    let plan = Plan::new(&creation, context, &Selection::default())?;
    let workers = NonZeroU32::new(8).expect("eight is not zero");
    let mut looks = Vec::new();
    for _ in 0..ROUNDS {
        let start = processor_time();
        let mut forecast = Forecast::new(&plan, workers, |_| Some(Duration::from_secs(10)));
        let outlook = forecast.outlook(Timestamp::now());
        looks.push(processor_time().saturating_sub(start));
        ensure!(
            outlook.is_some_and(|outlook| outlook.path.len() >= STAGES),
            "nothing was expected"
        );
    }
    println!("forecast of {JOBS} jobs in {STAGES} stages, {ROUNDS} rounds, median");
    println!(
        "  a look ahead     {:>8.2} ms   goal <= {} ms",
        millis(median(&looks)),
        GOAL_LOOK.as_millis()
    );
    Ok(())
}

/// Runs a job that touches one file, with and without the warning.
async fn warn() -> anyhow::Result<()> {
    let bench = Bench::start()?;
    let runwright = bench.runwright().await?;
    let project = bench.project_of("job: {script: [touch src/0.txt]}").await?;
    for file in 0..FILES {
        let directory = project.root().join(format!("many/{}", file / 100));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(file.to_string()), file.to_string())?;
    }
    for arguments in [&["add", "."][..], &["commit", "--quiet", "--message", "x"]] {
        let git = bench.command("git").args(arguments.iter().copied());
        bench
            .run(&git.current_dir(project.root()))
            .await?
            .succeeded()?;
    }
    println!("{FILES} tracked files, {ROUNDS} rounds in turn, medians");
    for way in ["--in-place", "--snapshot=copy"] {
        let [plain, warned] = [&["run", way][..], &["run", way, "--warn-changes"]]
            .map(|arguments| runwright.clone().run_with(arguments))
            .map(|tool| tool.command(&bench, &project));
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for round in 0..WARM_UP + ROUNDS {
            let plain = bench.run(&plain).await?.succeeded()?;
            let warned = bench.run(&warned).await?.succeeded()?;
            if round >= WARM_UP {
                without.push(plain.wall);
                with.push(warned.wall);
            }
        }
        let (without, with) = (median(&without), median(&with));
        println!(
            "  run {way:<16} {:>8.2} ms   with --warn-changes {:>8.2} ms   ratio {:.2}   goal <= {GOAL_RATIO}",
            millis(without),
            millis(with),
            ratio(with, without)
        );
    }
    Ok(())
}
