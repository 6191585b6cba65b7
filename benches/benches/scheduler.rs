//! The cost of a pipeline's driver when its jobs cost nothing.
//!
//! `cargo bench -p benches --bench scheduler`. Each row is one shape of pipeline: the time of a transition (a job
//! changes its status) with 10,000 jobs and with 100,000, and how far the second is from ten times the work. Jobs
//! finish at once, in memory, but their inputs are built in full. The results are medians of `SCHEDULER_ROUNDS`, 5 by
//! default; both sizes alternate.
//!
//! All runs on one thread and never waits. The result is that thread's CPU time, which excludes other work on the
//! machine.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use anyhow::ensure;
use async_trait::async_trait;
use benches::processor_time;
use executor_core::job::{JobDefinition, Need};
use executor_core::{
    Cancellation, DefaultExecutorProvider, JobAssignment, JobOutcome, JobRunner, RunContext,
    RunnerConfig, ShellDialect,
};
use pipeline::context::PipelineContext;
use pipeline::repository::NoRepository;
use pipeline::{Plan, ResolvedJob, ResolvedPipeline, Selection, create};
use scheduler::event::{EventKind, EventSink, PipelineEvent};
use scheduler::{Driver, RunExit};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

const FEW: usize = 10_000;
const MANY: usize = 100_000;
const GOAL: Duration = Duration::from_micros(5);
const GOAL_GROWTH: f64 = 1.3;

/// A name, and a function that returns a pipeline with this many jobs.
type Shape = (&'static str, fn(usize) -> ResolvedPipeline);

const SHAPES: [Shape; 5] = [
    ("one stage", one_stage),
    ("100 stages", stages),
    ("a stage for each job", chain),
    ("needs, 5 a job", needs),
    ("fan-in of all", fan_in),
];

fn main() -> anyhow::Result<()> {
    let rounds = std::env::var("SCHEDULER_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(5);
    let runtime = Builder::new_current_thread().enable_all().build()?;
    println!("driver with an in-memory job runner; medians of {rounds} rounds");
    println!(
        "{:<22} {:>11} {:>13} {:>11} {:>13} {:>8}",
        "shape", "plan 10,000", "a transition", "plan 100k", "a transition", "growth"
    );
    for (name, shape) in SHAPES {
        let sizes = [shape(FEW), shape(MANY)];
        let mut measured = [const { Vec::new() }; 2];
        // Alternating, so that noise of the machine affects both.
        for _ in 0..rounds {
            for (pipeline, runs) in sizes.iter().zip(&mut measured) {
                runs.push(measure(&runtime, pipeline)?);
            }
        }
        let [few, many] = measured.map(median);
        println!(
            "{name:<22} {:>8.1} ms {:>10.2} us {:>8.1} ms {:>10.2} us {:>7.2}x",
            few.plan.as_secs_f64() * 1e3,
            few.transition.as_secs_f64() * 1e6,
            many.plan.as_secs_f64() * 1e3,
            many.transition.as_secs_f64() * 1e6,
            many.transition.as_secs_f64() / few.transition.as_secs_f64()
        );
    }
    println!("goals: a transition of 10,000 <= {GOAL:?}, growth <= {GOAL_GROWTH}x");
    Ok(())
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    plan: Duration,
    transition: Duration,
}

fn measure(runtime: &Runtime, pipeline: &ResolvedPipeline) -> anyhow::Result<Measured> {
    let start = processor_time();
    let context = PipelineContext {
        // The fan-in needs all jobs, which exceeds the limit of GitLab.
        most_needs: usize::MAX,
        ..PipelineContext::default()
    };
    let creation = create(pipeline, &context, &NoRepository);
    let plan = Plan::new(&creation, context, &Selection::default())?;
    let planned = processor_time().saturating_sub(start);
    let sink = Arc::new(Transitions::default());
    let mut driver = Driver::new(
        Arc::new(DefaultExecutorProvider::new(
            ShellDialect::platform_default(),
        )),
        Arc::new(Idle),
        Arc::new(RunnerConfig::new("bench", "none")),
        Arc::clone(&sink) as Arc<dyn EventSink>,
    );
    driver.concurrency = NonZeroU32::new(8).expect("eight is not zero");
    let plan = Arc::new(plan);
    let start = processor_time();
    let report = runtime.block_on(driver.run(plan, &Cancellation::new()));
    let ran = processor_time().saturating_sub(start);
    ensure!(report.exit == RunExit::Success, "the pipeline failed");
    let transitions = sink.0.load(Ordering::Relaxed);
    // Pending, running, success.
    ensure!(
        transitions == 3 * pipeline.jobs.len() as u64,
        "a job did not run"
    );
    Ok(Measured {
        plan: planned,
        transition: Duration::from_secs_f64(ran.as_secs_f64() / as_f64(transitions)),
    })
}

/// Counts the transitions.
#[derive(Debug, Default)]
struct Transitions(AtomicU64);

impl EventSink for Transitions {
    fn event(&self, event: &PipelineEvent) {
        if matches!(event.kind, EventKind::JobStatus { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Reports every job as successful without running it.
#[derive(Debug)]
struct Idle;

#[async_trait]
impl JobRunner for Idle {
    async fn run(&self, assignment: JobAssignment, _context: RunContext) -> JobOutcome {
        assignment.observer.started();
        JobOutcome::success()
    }
}

fn one_stage(count: usize) -> ResolvedPipeline {
    pipeline_of(1, (0..count).map(|at| job(at, 0)))
}

fn stages(count: usize) -> ResolvedPipeline {
    let width = count / 100;
    pipeline_of(100, (0..count).map(|at| job(at, at / width)))
}

fn chain(count: usize) -> ResolvedPipeline {
    pipeline_of(count, (0..count).map(|at| job(at, at)))
}

fn needs(count: usize) -> ResolvedPipeline {
    let width = count / 100;
    let needing = |at: usize| {
        let needed = at.checked_sub(width).into_iter();
        needing(
            job(at, 0),
            needed.flat_map(|first| first.saturating_sub(4)..=first),
        )
    };
    pipeline_of(1, (0..count).map(needing))
}

fn fan_in(count: usize) -> ResolvedPipeline {
    let last = count - 1;
    let jobs = (0..last).map(|at| job(at, 0));
    pipeline_of(2, jobs.chain([needing(job(last, 1), 0..last)]))
}

fn job(at: usize, stage: usize) -> JobDefinition {
    JobDefinition {
        name: format!("job {at}"),
        stage: stage.to_string(),
        script: Some(vec!["true".to_owned()]),
        ..JobDefinition::default()
    }
}

fn needing(job: JobDefinition, needed: impl Iterator<Item = usize>) -> JobDefinition {
    let need = |at| Need::of(format!("job {at}"));
    JobDefinition {
        needs: Some(needed.map(need).collect()),
        ..job
    }
}

fn pipeline_of(stages: usize, jobs: impl Iterator<Item = JobDefinition>) -> ResolvedPipeline {
    ResolvedPipeline {
        stages: (0..stages).map(|stage| stage.to_string()).collect(),
        jobs: jobs.map(ResolvedJob::from).collect(),
        ..ResolvedPipeline::default()
    }
}

fn median(mut runs: Vec<Measured>) -> Measured {
    let middle = runs.len() / 2;
    runs.sort_unstable_by_key(|run| run.plan);
    let plan = runs[middle].plan;
    runs.sort_unstable_by_key(|run| run.transition);
    Measured {
        plan,
        ..runs[middle]
    }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
