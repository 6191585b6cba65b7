//! Whatever happens to a pool, it gives jobs machines afterwards, and its limits have held.

use crate::driver::{BOOT, FakeDriver, options};
use executor_core::Cancellation;
use executor_machine::{Acquired, Lease, Pool, Records};
use proptest::prelude::*;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const MOST: u32 = 4;

#[derive(Debug, Clone)]
enum Event {
    Acquire,
    /// A job that waits this many seconds.
    Take(u64),
    Start(usize),
    Doubt(usize),
    Drop(usize),
    Break(usize),
    Heal,
    FailingCreations(u32),
    FailingRemovals(u32),
    /// Machines, slots, jobs and idle slots.
    Change(u32, u32, u32, u32),
    Pass(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let any = any::<usize>;
    let event = prop_oneof![
        3 => Just(Event::Acquire),
        3 => (1_u64..90).prop_map(Event::Take),
        2 => any().prop_map(Event::Start),
        1 => any().prop_map(Event::Doubt),
        2 => any().prop_map(Event::Drop),
        1 => any().prop_map(Event::Break),
        1 => Just(Event::Heal),
        1 => (0_u32..4).prop_map(Event::FailingCreations),
        1 => (0_u32..4).prop_map(Event::FailingRemovals),
        1 => (1..=MOST, 1_u32..4, 0_u32..4, 0_u32..3)
            .prop_map(|(machines, slots, jobs, idle)| Event::Change(machines, slots, jobs, idle)),
        3 => (0_u64..200).prop_map(Event::Pass),
    ];
    proptest::collection::vec(event, 0..60)
}

async fn happen(event: &Event, pool: &Pool, driver: &FakeDriver, leases: &mut Vec<Lease>) {
    let nth = |index: usize, leases: &[Lease]| index % leases.len().max(1);
    match *event {
        Event::Acquire => {
            if let Acquired::Reserved(lease) = pool.acquire().await {
                leases.push(lease);
            }
        }
        Event::Take(seconds) => {
            let stop = Cancellation::new();
            let taken = timeout(Duration::from_secs(seconds), pool.take(None, &stop)).await;
            leases.extend(taken.ok().and_then(Result::ok));
        }
        Event::Start(index) => {
            if let Some(lease) = leases.get(nth(index, leases)) {
                lease.start();
            }
        }
        Event::Doubt(index) => {
            if let Some(lease) = leases.get(nth(index, leases)) {
                lease.doubt();
            }
        }
        Event::Drop(_) if leases.is_empty() => {}
        Event::Drop(index) => drop(leases.swap_remove(nth(index, leases))),
        Event::Break(index) => driver.change(|it| {
            let nth = index % it.existing.len().max(1);
            let name = it.existing.keys().nth(nth).cloned();
            it.broken.extend(name);
        }),
        Event::Heal => driver.change(|it| it.broken.clear()),
        Event::FailingCreations(count) => driver.change(|it| it.failing_creations = count),
        Event::FailingRemovals(count) => driver.change(|it| it.failing_removals = count),
        Event::Change(machines, slots, jobs, idle) => {
            let mut options = options(idle);
            options.limits.machines = machines;
            options.limits.slots = slots;
            options.limits.jobs = jobs;
            pool.change(options);
        }
        Event::Pass(seconds) => sleep(Duration::from_secs(seconds)).await,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn jobs_get_machines_after_whatever_happened(events in events()) {
        // R-EXEC-80
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let driver = FakeDriver::default();
            let mut first = options(1);
            first.limits.machines = MOST;
            let (pool, owner) = Pool::new(first, driver.shared(), Records::default());
            let mut tasks = JoinSet::new();
            tasks.spawn(owner);
            let mut leases = Vec::new();
            for event in &events {
                happen(event, &pool, &driver, &mut leases).await;
            }
            assert!(driver.change(|it| it.most) <= MOST as usize);

            leases.clear();
            driver.change(|it| {
                it.broken.clear();
                it.failing_creations = 0;
                it.failing_removals = 0;
            });
            let mut last = options(1);
            last.limits.machines = 1;
            last.limits.jobs = 1;
            pool.change(last);
            // Failed removals pause for up to half an hour.
            sleep(Duration::from_hours(1)).await;
            assert_eq!(driver.count(), 1, "{:?}", pool.status().await);
            for _ in 0..3 {
                let begun = Instant::now();
                let lease = pool.take(None, &Cancellation::new()).await.unwrap();
                lease.start();
                assert!(begun.elapsed() <= BOOT, "{:?}", pool.status().await);
            }
        });
    }
}
