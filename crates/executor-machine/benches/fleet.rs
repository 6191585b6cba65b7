//! The pool and its policy against their goals, with a driver that answers at once: `cargo bench -p runwright-executor-machine`.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use async_trait::async_trait;
use executor_core::Endpoint;
use executor_machine::machine::Machine;
use executor_machine::policy::{Limits, decide};
use executor_machine::schedule::{Idle, Rule};
use executor_machine::simulation::{Cloud, SimulatedJob, simulate};
use executor_machine::{Acquired, DriverError, MachineDriver, Pool, PoolOptions, Records};
use jiff::Timestamp;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const MACHINES: u32 = 10_000;
const JOBS: u32 = 1_000_000;

#[derive(Debug)]
struct Instantly;

#[async_trait]
impl MachineDriver for Instantly {
    async fn list(&self, _prefix: &str) -> Result<Vec<String>, DriverError> {
        Ok(Vec::new())
    }
    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        Ok(Endpoint::Engine {
            host: format!("tcp://{name}:2376"),
            tls_cert_path: None,
        })
    }
    async fn check(&self, _name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
        Ok(())
    }
    async fn remove(&self, _name: &str) -> Result<(), DriverError> {
        Ok(())
    }
}

fn rule(idle: u32) -> Rule {
    Rule {
        idle: Idle::Fixed(idle),
        idle_time: Duration::from_mins(10),
        preemptive: idle > 0,
    }
}

/// Prints the median of what was measured, and the goal.
fn report(what: &str, mut times: Vec<Duration>, goal: Duration) {
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!("{what}: {median:.2?} (goal: at most {goal:.0?})");
}

fn decision() {
    let now = Duration::from_secs(1_000_000);
    let machine = |index: u32| {
        let at = now.saturating_sub(Duration::from_secs(u64::from(index)));
        let mut machine = Machine::creating(at);
        machine.finish_creation(at);
        if index.is_multiple_of(2) {
            machine.reserve(at);
            machine.start(at);
        }
        machine
    };
    let machines: Vec<_> = (0..MACHINES).map(|index| (index, machine(index))).collect();
    let (rule, limits) = (rule(MACHINES / 4), Limits::default());
    let times = (0..101).map(|_| {
        let begun = Instant::now();
        let machines = machines.iter().map(|(index, machine)| (*index, machine));
        black_box(decide(machines, 10, &rule, &limits, now));
        begun.elapsed()
    });
    report(
        "one decision over 10,000 machines",
        times.collect(),
        Duration::from_millis(5),
    );
}

async fn hand_over(machines: u32) {
    let mut options = PoolOptions::new("bench-");
    options.schedule.otherwise = rule(machines);
    let (pool, owner) = Pool::new(options, Arc::new(Instantly), Records::default());
    let mut tasks = JoinSet::new();
    tasks.spawn(owner);
    let mut times = Vec::new();
    while times.len() < 101 {
        let begun = Instant::now();
        let acquired = pool.acquire().await;
        // Nothing is free while machines are still being created.
        if matches!(acquired, Acquired::Reserved(_)) {
            times.push(begun.elapsed());
        }
    }
    let what = format!("idle machine to job, of {machines}");
    report(&what, times, Duration::from_millis(5));
    pool.shutdown(Duration::from_secs(10)).await;
}

fn simulation() {
    // Eleven jobs a second for a day, of one to ten minutes: about 4,000 machines.
    let job = |index: u32| SimulatedJob {
        created_at: Timestamp::from_millisecond(i64::from(index) * 86).expect("a time"),
        duration: Duration::from_secs(u64::from(index.wrapping_mul(2_654_435_761) % 540 + 60)),
    };
    let jobs: Vec<_> = (0..JOBS).map(job).collect();
    let mut options = PoolOptions::new("bench-");
    options.schedule.otherwise = rule(50);
    let cloud = Cloud {
        boot: Duration::from_mins(1),
        removal: Duration::from_secs(30),
    };
    let times = (0..3).map(|_| {
        let begun = Instant::now();
        let result = black_box(simulate(&jobs, &options, cloud));
        assert_eq!(result.waits.len(), jobs.len());
        begun.elapsed()
    });
    report(
        "simulation of a million jobs",
        times.collect(),
        Duration::from_secs(10),
    );
}

fn main() {
    decision();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(hand_over(1));
    runtime.block_on(hand_over(MACHINES));
    simulation();
}
