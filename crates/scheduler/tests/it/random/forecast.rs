//! Forecasts, compared with the run itself and with a slow, plain simulation.

use super::dice::Dice;
use super::for_each_seed;
use super::pipeline::random_plan;
use super::reference::Reference;
use crate::fake::driver_of;
use async_trait::async_trait;
use executor_core::job::When;
use executor_core::{Cancellation, JobAssignment, JobOutcome, JobRunner, RunContext};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use pipeline::Plan;
use pipeline_insight::forecast::{Course, Forecast, Outlook};
use scheduler::Status;
use scheduler::event::{EventSink, PipelineEvent};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The duration of each job, by its index.
fn random_times(dice: &mut Dice, plan: &Plan, step: usize) -> Vec<Duration> {
    let time = |at: usize, dice: &mut Dice| {
        // With this step, no two jobs end at the same moment.
        let millis = dice.below(200) * step + if step == 100 { at } else { 0 };
        Duration::from_millis(u64::try_from(millis).unwrap())
    };
    (0..plan.jobs().len()).map(|at| time(at, dice)).collect()
}

fn forecast(plan: &Plan, workers: NonZeroU32, times: &[Duration]) -> Forecast {
    Forecast::new(plan, workers, |job| {
        Some(times[plan.position(job).unwrap()])
    })
}

fn random_workers(dice: &mut Dice) -> NonZeroU32 {
    NonZeroU32::new(u32::try_from(1 + dice.below(4)).unwrap()).unwrap()
}

#[test]
fn forecast_predicts_the_end_after_every_event() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    for_each_seed(2_000, |dice| {
        let plan = Arc::new(Plan::clone(&random_plan(dice, 10)));
        let workers = random_workers(dice);
        let times = random_times(dice, &plan, 100);
        let events = runtime.block_on(run(&plan, workers, &times));
        let Some(last) = events.last() else { return };
        let mut forecast = forecast(&plan, workers, &times);
        for (event, next) in events.iter().zip(&events[1..]) {
            forecast.note(event);
            // Events of one moment belong together.
            if event.at < next.at {
                let outlook = forecast.outlook(event.at).unwrap();
                assert_eq!(outlook.end, last.at, "after {event:?}");
                assert!(!outlook.is_at_least(), "{outlook:?}");
            }
        }
        let path = forecast.course().critical_path();
        assert_eq!(path, Course::of_events(&events).critical_path());
    });
}

/// Runs a plan on virtual time and returns its events with virtual times.
async fn run(plan: &Arc<Plan>, workers: NonZeroU32, times: &[Duration]) -> Vec<PipelineEvent> {
    let runner = Arc::new(Steady(times.to_vec(), Arc::clone(plan)));
    let sink = Arc::new(VirtualTimes {
        begun: Instant::now(),
        events: Mutex::default(),
    });
    let mut driver = driver_of(runner as _, Arc::clone(&sink) as Arc<dyn EventSink>);
    driver.concurrency = workers;
    driver.run(Arc::clone(plan), &Cancellation::new()).await;
    std::mem::take(&mut *sink.events.lock())
}

/// Takes the given time for each job.
#[derive(Debug)]
struct Steady(Vec<Duration>, Arc<Plan>);

#[async_trait]
impl JobRunner for Steady {
    async fn run(&self, assignment: JobAssignment, _context: RunContext) -> JobOutcome {
        let Self(times, plan) = self;
        let job = plan.position(&assignment.job.job_info.name).unwrap();
        sleep(times[job]).await;
        JobOutcome::success()
    }
}

#[derive(Debug)]
struct VirtualTimes {
    begun: Instant,
    events: Mutex<Vec<PipelineEvent>>,
}

impl EventSink for VirtualTimes {
    fn event(&self, event: &PipelineEvent) {
        let passed = SignedDuration::try_from(self.begun.elapsed()).unwrap();
        let mut event = event.clone();
        event.at = Timestamp::UNIX_EPOCH + passed.round(jiff::Unit::Millisecond).unwrap();
        self.events.lock().push(event);
    }
}

#[test]
fn forecast_agrees_with_a_slow_simulation() {
    for_each_seed(3_000, |dice| {
        let plan = random_plan(dice, 12);
        if plan
            .jobs()
            .iter()
            .any(|job| job.definition.resource_group.is_some())
        {
            // The rules do not decide which job gets a group first.
            return;
        }
        let workers = random_workers(dice);
        let times = random_times(dice, &plan, 1_000);
        let outlook = forecast(&plan, workers, &times).outlook(Timestamp::UNIX_EPOCH);
        let outlook = outlook.unwrap();
        assert_eq!(outlook.total, slowly(&plan, workers, &times));
        check_path(&outlook);
    });
}

/// Simulates a plan second by second.
fn slowly(plan: &Plan, workers: NonZeroU32, times: &[Duration]) -> Duration {
    let mut reference = Reference::new(plan);
    let mut since: Vec<Option<Duration>> = vec![None; times.len()];
    let delay = |job: usize| {
        let start_in = plan.jobs()[job].definition.start_in.as_deref();
        let seconds = start_in.and_then(|text| text.split(' ').next()?.parse().ok());
        Duration::from_secs(seconds.unwrap_or(0))
    };
    let mut now = Duration::ZERO;
    let mut end = Duration::ZERO;
    for _ in 0..10_000 {
        // Jobs without a duration end in the second in which they begin.
        loop {
            let before = reference.statuses.clone();
            for job in 0..times.len() {
                let begun = *since[job].get_or_insert(now);
                match before[job] {
                    Status::Running if begun + times[job] <= now => {
                        reference.succeed(job);
                        end = now;
                    }
                    Status::Scheduled if begun + delay(job) <= now => {
                        reference.end_delay(job);
                        end = now;
                    }
                    _ => {}
                }
            }
            let goes_on = |job: &usize| reference.statuses[*job] != before[*job];
            let changed: Vec<usize> = (0..times.len()).filter(goes_on).collect();
            for job in changed {
                since[job] = None;
            }
            for (job, since) in since.iter_mut().enumerate() {
                let running = reference.statuses.iter();
                let running = running.filter(|&&status| status == Status::Running).count();
                if reference.statuses[job] == Status::Pending
                    && running < usize::try_from(workers.get()).unwrap()
                {
                    reference.run(job);
                    *since = Some(now);
                }
            }
            if reference.statuses == before {
                break;
            }
        }
        now += Duration::from_secs(1);
    }
    end
}

/// Checks that the critical path has no gap.
fn check_path(outlook: &Outlook) {
    let covered = outlook.path.iter().map(|step| step.waited + step.took);
    let covered: Duration = covered.sum();
    let ends = outlook.jobs.iter().filter_map(|span| Some(span.ended?.at));
    let last = ends
        .max()
        .map(|last| last.duration_since(Timestamp::UNIX_EPOCH));
    let last = last.map_or(Duration::ZERO, |last| last.try_into().unwrap());
    assert_eq!(covered, last, "{outlook:?}");
}

#[test]
fn critical_path_decides_the_duration_with_enough_workers() {
    for_each_seed(2_000, |dice| {
        let plan = random_plan(dice, 12);
        let is_plain = |job: &pipeline::PlannedJob| {
            job.definition.resource_group.is_none() && job.definition.when != When::Delayed
        };
        if !plan.jobs().iter().all(is_plain) {
            return;
        }
        let all = NonZeroU32::new(100).unwrap();
        let times = random_times(dice, &plan, 100);
        let total = |times: &[Duration]| {
            let outlook = forecast(&plan, all, times).outlook(Timestamp::UNIX_EPOCH);
            outlook.unwrap().total
        };
        let outlook = forecast(&plan, all, &times).outlook(Timestamp::UNIX_EPOCH);
        let outlook = outlook.unwrap();
        for job in 0..times.len() {
            let mut other = times.clone();
            let is_in_path = outlook.path.iter().any(|step| step.index == job);
            if is_in_path {
                other[job] += Duration::from_secs(1);
                assert_eq!(total(&other), outlook.total + Duration::from_secs(1));
            } else {
                other[job] = Duration::ZERO;
                assert_eq!(total(&other), outlook.total);
            }
        }
    });
}
