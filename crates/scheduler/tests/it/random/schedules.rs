//! The driver on virtual time, with jobs of random durations and results.

use super::dice::Dice;
use super::for_each_seed;
use super::pipeline::{SPECIAL_CODE, random_plan};
use super::replay::{Replay, TimedEvent};
use crate::fake::driver_of;
use async_trait::async_trait;
use executor_core::{
    BuildError, CancelCause, Cancellation, ExitCode, JobAssignment, JobOutcome, JobRunner,
    RunContext,
};
use parking_lot::Mutex;
use pipeline::Plan;
use scheduler::PipelineReport;
use scheduler::event::{EventSink, PipelineEvent};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// The longest duration of a job and pause between requests, in seconds.
const LONGEST: usize = 20;
/// Longer than any pipeline here takes.
const FOREVER: Duration = Duration::from_hours(24);

#[test]
fn random_schedules_agree_with_the_reference() {
    // R-GLCI-117 R-GLCI-121 R-GLCI-122
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    for_each_seed(10_000, |dice| {
        let plan = random_plan(dice, 8);
        let concurrency = 1 + dice.below(4);
        let (report, sink, runner) = runtime.block_on(run(&plan, concurrency, dice));
        let events = std::mem::take(&mut *sink.0.lock());
        Replay::new(&plan, concurrency).check(&events, &report);
        check_attempts(&runner, &report);
    });
}

async fn run(
    plan: &Arc<Plan>,
    concurrency: usize,
    dice: &mut Dice,
) -> (PipelineReport, Arc<Timeline>, Arc<RandomRunner>) {
    let runner = Arc::new(RandomRunner {
        dice: Mutex::new(dice.clone()),
        begun: Mutex::default(),
    });
    let sink = Arc::new(Timeline::default());
    let mut driver = driver_of(
        Arc::clone(&runner) as Arc<dyn JobRunner>,
        Arc::clone(&sink) as Arc<dyn EventSink>,
    );
    driver.concurrency = NonZeroU32::new(u32::try_from(concurrency).unwrap()).unwrap();
    driver.timeout = dice.once_in(10).then(|| seconds(dice));
    let cancellation = Cancellation::new();
    let cancel_after = dice.once_in(5).then(|| seconds(dice));
    // Virtual time passes at once when no task is ready, so a driver that hangs fails here.
    let run = timeout(FOREVER, driver.run(Arc::clone(plan), &cancellation));
    let held = dice.once_in(3).then(|| driver.controls.hold());
    let mut again = dice.clone();
    let (report, (), ()) = tokio::join!(
        run,
        async {
            if let Some(time) = cancel_after {
                sleep(time).await;
                cancellation.cancel(CancelCause::User);
            }
        },
        async {
            for _ in 0..again.below(6) {
                sleep(seconds(&mut again)).await;
                // The job may not have ended, or the pipeline has.
                let job = again.pick(plan.jobs()).name();
                let _ = driver.controls.retry(job).await;
            }
            drop(held);
        }
    );
    (report.unwrap(), sink, runner)
}

/// Checks that each attempt in the report ran exactly once.
fn check_attempts(runner: &RandomRunner, report: &PipelineReport) {
    let mut begun = runner.begun.lock().clone();
    begun.sort_unstable();
    let reported = report.jobs.iter().flat_map(|job| {
        let attempts = 1..=job.attempts;
        attempts.map(|attempt| (job.name.clone(), attempt))
    });
    let mut reported: Vec<(String, u32)> = reported.collect();
    reported.sort_unstable();
    assert_eq!(begun, reported);
}

/// Records events with their virtual times.
#[derive(Debug, Default)]
struct Timeline(Mutex<Vec<TimedEvent>>);

impl EventSink for Timeline {
    fn event(&self, event: &PipelineEvent) {
        let mut events = self.0.lock();
        events.push(TimedEvent {
            at: Instant::now(),
            seq: event.seq,
            kind: event.kind.clone(),
        });
    }
}

#[derive(Debug)]
struct RandomRunner {
    dice: Mutex<Dice>,
    begun: Mutex<Vec<(String, u32)>>,
}

#[async_trait]
impl JobRunner for RandomRunner {
    async fn run(&self, assignment: JobAssignment, _context: RunContext) -> JobOutcome {
        let name = assignment.job.job_info.name.clone();
        self.begun.lock().push((name, assignment.attempt));
        let (time, obeys, end) = {
            let mut dice = self.dice.lock();
            (seconds(&mut dice), !dice.once_in(4), dice.below(10))
        };
        let canceled = async {
            assignment.cancellation.canceled().await;
            if !obeys {
                std::future::pending::<()>().await;
            }
        };
        let error = tokio::select! {
            () = sleep(time) => match end {
                0 => BuildError::Canceled(CancelCause::Source),
                1 => script_error(1),
                2 | 3 => script_error(SPECIAL_CODE),
                _ => return JobOutcome::success(),
            },
            () = canceled => BuildError::Canceled(CancelCause::User),
        };
        JobOutcome::from_error(error)
    }
}

fn script_error(code: i32) -> BuildError {
    BuildError::Script {
        exit_code: ExitCode(code),
    }
}

/// Returns a duration, which may be zero.
fn seconds(dice: &mut Dice) -> Duration {
    Duration::from_secs(u64::try_from(dice.below(LONGEST)).unwrap())
}
