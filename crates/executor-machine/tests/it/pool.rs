use crate::driver::{BOOT, FakeDriver, options};
use executor_core::{CancelCause, Cancellation};
use executor_machine::machine::State;
use executor_machine::{Acquired, Lease, Pool, PoolOptions, Records, TakeError, Throttle};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// A pool, its driver, and the task that owns the machines.
struct World {
    pool: Pool,
    driver: FakeDriver,
    _tasks: JoinSet<()>,
}

fn world(options: PoolOptions) -> World {
    with_driver(options, FakeDriver::default())
}

fn with_driver(options: PoolOptions, driver: FakeDriver) -> World {
    let (pool, owner) = Pool::new(options, driver.shared(), Records::default());
    let mut tasks = JoinSet::new();
    tasks.spawn(owner);
    World {
        pool,
        driver,
        _tasks: tasks,
    }
}

impl World {
    async fn count(&self, state: State) -> usize {
        let all = self.pool.status().await;
        all.iter().filter(|machine| machine.state == state).count()
    }

    async fn reserve(&self) -> Option<Lease> {
        match self.pool.acquire().await {
            Acquired::Reserved(lease) => Some(lease),
            Acquired::OnDemand(_) | Acquired::Full | Acquired::Unlisted(_) => None,
        }
    }

    async fn take(&self) -> Result<Lease, TakeError> {
        self.pool.take(None, &Cancellation::new()).await
    }
}

/// Longer than a machine takes to boot; the time is virtual.
async fn boot() {
    sleep(BOOT + Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn idle_machines_are_kept_and_replaced() {
    // R-EXEC-76, R-EXEC-78, R-EXEC-88
    let world = world(options(2));
    assert!(world.reserve().await.is_none(), "no machine has booted yet");
    boot().await;
    assert_eq!(world.count(State::Idle).await, 2);
    let lease = world.reserve().await.unwrap();
    assert_eq!(world.count(State::Acquired).await, 1);
    lease.start();
    assert_eq!(world.count(State::Used).await, 1);
    assert_eq!(world.count(State::Creating).await, 1);
    boot().await;
    assert_eq!(world.count(State::Idle).await, 2);
}

#[tokio::test(start_paused = true)]
async fn slot_without_a_job_is_given_back() {
    // R-EXEC-93
    let world = world(options(1));
    boot().await;
    let lease = world.reserve().await.unwrap();
    let name = lease.name().to_owned();
    assert!(world.reserve().await.is_none());
    drop(lease);
    let again = world.reserve().await.unwrap();
    assert_eq!(again.name(), name);
    assert_eq!(world.pool.status().await[0].jobs, 0);
}

#[tokio::test(start_paused = true)]
async fn machine_that_is_not_needed_is_removed_after_its_time() {
    // R-EXEC-79, R-EXEC-92
    let world = world(options(1));
    boot().await;
    let lease = world.reserve().await.unwrap();
    lease.start();
    boot().await;
    drop(lease);
    assert_eq!(world.count(State::Idle).await, 2);
    sleep(Duration::from_mins(9)).await;
    assert_eq!(world.count(State::Idle).await, 2);
    let status = world.pool.status().await;
    let leaves = status
        .iter()
        .filter(|it| it.explanation.contains("is not needed"));
    assert_eq!(leaves.count(), 1, "{status:?}");
    sleep(Duration::from_mins(2)).await;
    assert_eq!(world.driver.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn machine_is_removed_after_its_number_of_jobs() {
    // R-EXEC-91
    let mut options = options(0);
    options.limits.jobs = 2;
    let world = world(options);
    let first = world.take().await.unwrap();
    first.start();
    let name = first.name().to_owned();
    drop(first);
    let second = world.take().await.unwrap();
    assert_eq!(second.name(), name, "an idle machine is used again");
    second.start();
    drop(second);
    boot().await;
    assert_eq!(world.driver.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn machines_on_demand_respect_the_limit() {
    // R-EXEC-74, R-EXEC-75
    let mut options = options(0);
    options.limits.machines = 2;
    let world = world(options);
    let promises = [world.pool.acquire().await, world.pool.acquire().await];
    assert!(
        promises
            .iter()
            .all(|it| matches!(it, Acquired::OnDemand(_)))
    );
    assert!(matches!(world.pool.acquire().await, Acquired::Full));
    boot().await;
    assert_eq!(
        world.driver.calls("create"),
        0,
        "nothing is created before a job"
    );
    drop(promises);
    let (one, two) = tokio::join!(world.take(), world.take());
    let (one, _two) = (one.unwrap(), two.unwrap());
    assert!(matches!(world.pool.acquire().await, Acquired::Full));
    let third = world.take().await;
    assert!(matches!(third, Err(TakeError::TimedOut(_))));
    drop(one);
    assert!(matches!(world.pool.acquire().await, Acquired::OnDemand(_)));
    assert_eq!(world.driver.change(|it| it.most), 2);
}

#[tokio::test(start_paused = true)]
async fn failed_creation_fails_its_job_and_leaves_nothing() {
    // R-EXEC-87
    let world = world(options(0));
    world.driver.change(|it| it.failing_creations = 1);
    let (one, two) = tokio::join!(world.take(), world.take());
    let errors: Vec<_> = [&one, &two]
        .into_iter()
        .filter_map(|it| it.as_ref().err())
        .collect();
    assert_eq!(errors.len(), 1);
    let message = errors[0].to_string();
    assert!(
        message.starts_with("create machine runner-abc-"),
        "{message}"
    );
    assert!(message.ends_with(": the cloud has no room"), "{message}");
    assert_eq!(world.driver.count(), 1);
    let lease = one.or(two).unwrap();
    assert_eq!(world.pool.status().await[0].name, lease.name());
}

/// As with a host of a list that is down, while the other one has a job.
#[tokio::test(start_paused = true)]
async fn job_waits_for_another_machine_when_its_own_is_not_created() {
    let world = world(options(0));
    let first = world.take().await.unwrap();
    world.driver.change(|it| it.failing_creations = u32::MAX);
    let end = async {
        sleep(Duration::from_mins(1)).await;
        drop(first);
    };
    let (next, ()) = tokio::join!(world.take(), end);
    next.unwrap();
}

#[tokio::test(start_paused = true)]
async fn burst_grows_at_its_rate() {
    let mut options = options(0);
    options.limits.growth = 4;
    let world = world(options);
    let begun = Instant::now();
    let mut jobs = JoinSet::new();
    for _ in 0..20 {
        let pool = world.pool.clone();
        jobs.spawn(async move {
            let lease = pool.take(None, &Cancellation::new()).await.unwrap();
            lease.start();
            lease
        });
    }
    let _leases = jobs.join_all().await;
    assert!(
        begun.elapsed() <= (BOOT * 5).mul_f64(1.05),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(world.driver.change(|it| it.most_booting), 4);
}

#[tokio::test(start_paused = true)]
async fn machines_are_created_as_fast_as_the_throttle_says() {
    let mut options = options(6);
    options.throttle = Some(Throttle {
        per_second: 0.5,
        burst: 2,
    });
    let world = world(options);
    for (seconds, expected) in [(1, 2), (2, 3), (2, 4), (4, 6), (9, 6)] {
        sleep(Duration::from_secs(seconds)).await;
        assert_eq!(world.driver.calls("create"), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn machine_at_fault_is_checked_and_replaced() {
    let world = world(options(0));
    let lease = world.take().await.unwrap();
    lease.start();
    let name = lease.name().to_owned();
    world.driver.change(|it| it.broken.insert(name.clone()));
    lease.doubt();
    drop(lease);
    let next = world.take().await.unwrap();
    assert_ne!(next.name(), name);
    assert_eq!(world.driver.count(), 1);
    // One that answers is kept.
    next.doubt();
    let name = next.name().to_owned();
    drop(next);
    assert_eq!(world.take().await.unwrap().name(), name);
}

#[tokio::test(start_paused = true)]
async fn idle_machine_that_does_not_answer_is_replaced() {
    let world = world(options(1));
    boot().await;
    let name = world.pool.status().await[0].name.clone();
    world.driver.change(|it| it.broken.insert(name.clone()));
    sleep(Duration::from_mins(4)).await;
    let status = world.pool.status().await;
    assert_eq!((status.len(), status[0].state), (1, State::Idle));
    assert_ne!(status[0].name, name);
}

#[tokio::test(start_paused = true)]
async fn failed_removal_is_shown_and_tried_again() {
    let world = world(options(0));
    world.driver.change(|it| it.failing_removals = 3);
    drop(world.take().await.unwrap());
    sleep(Duration::from_mins(11)).await;
    let status = world.pool.status().await;
    assert_eq!(status[0].state, State::Removing);
    assert!(
        status[0].explanation.contains("failed attempts"),
        "{status:?}"
    );
    // 30, 60 and 120 seconds later.
    sleep(Duration::from_mins(4)).await;
    assert_eq!(world.driver.calls("remove"), 4);
    assert_eq!(world.pool.status().await, []);
    assert_eq!(world.driver.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn machines_of_an_earlier_process_are_taken_over() {
    let driver = FakeDriver::default();
    {
        let earlier = with_driver(options(3), driver.clone());
        boot().await;
        assert_eq!(earlier.driver.count(), 3);
        driver.change(|it| {
            // One was created although its answer never came; the others belong to other pools.
            it.existing
                .insert("runner-abc-1700000000-0000abcd".to_owned(), false);
            it.existing.insert("database".to_owned(), true);
            it.existing
                .insert("runner-abc-large-1700000000-0000abcd".to_owned(), true);
            it.failing_lists = 2;
        });
    }
    let later = with_driver(options(3), driver.clone());
    // The lists fail for a minute, and the machine that is not needed is kept for its time.
    sleep(Duration::from_mins(2)).await;
    assert_eq!(later.count(State::Idle).await, 4);
    assert_eq!(driver.calls("create"), 3 + 4);
    sleep(Duration::from_mins(10)).await;
    assert_eq!(later.count(State::Idle).await, 3);
    assert_eq!(driver.count(), 3 + 2);
    let jobs = later.pool.status().await.into_iter().map(|it| it.jobs);
    assert_eq!(
        jobs.collect::<Vec<_>>(),
        [1; 3],
        "what they had is not known"
    );
}

#[tokio::test(start_paused = true)]
async fn machine_for_one_job_is_not_taken_over() {
    let driver = FakeDriver::default();
    driver.change(|it| {
        it.existing
            .insert("runner-abc-1700000000-0000abcd".to_owned(), true)
    });
    let mut options = options(0);
    options.limits.jobs = 1;
    let world = with_driver(options, driver);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.driver.count(), 0);
    assert_eq!(world.driver.calls("create"), 0);
}

#[tokio::test(start_paused = true)]
async fn creation_without_an_answer_is_removed() {
    let mut options = options(0);
    options.acquire_timeout = Duration::from_hours(2);
    let world = world(options);
    world.driver.change(|it| it.is_silent = true);
    let message = world.take().await.unwrap_err().to_string();
    assert!(
        message.ends_with("the driver did not answer within 1h"),
        "{message}"
    );
    assert_eq!(world.driver.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn machine_of_a_stopped_job_goes_to_the_next() {
    let world = world(options(0));
    let stop = Cancellation::new();
    let (stopped, ()) = tokio::join!(world.pool.take(None, &stop), async {
        sleep(BOOT / 2).await;
        stop.cancel(CancelCause::User);
    });
    assert!(matches!(
        stopped,
        Err(TakeError::Canceled(CancelCause::User))
    ));
    let begun = Instant::now();
    let _lease = world.take().await.unwrap();
    assert!(begun.elapsed() < BOOT);
    assert_eq!(world.driver.calls("create"), 1);
}

#[tokio::test(start_paused = true)]
async fn jobs_share_machines_with_several_slots() {
    let mut options = options(0);
    options.limits.slots = 3;
    options.limits.jobs = 4;
    let world = world(options);
    let all = tokio::join!(world.take(), world.take(), world.take());
    let first = [all.0.unwrap(), all.1.unwrap(), all.2.unwrap()];
    first.iter().for_each(Lease::start);
    assert_eq!(world.driver.count(), 1);
    let [one, two, three] = first;
    drop(one);
    // It has one job left, so a second machine is needed for two.
    let (four, five) = tokio::join!(world.take(), world.take());
    assert_eq!(world.driver.count(), 2);
    drop((two, three, four, five));
}

#[tokio::test(start_paused = true)]
async fn shutdown_does_not_wait_until_a_machine_is_ready() {
    let mut options = options(1);
    options.remove_on_shutdown = true;
    let world = world(options);
    world.driver.change(|it| it.is_unready = true);
    boot().await;
    assert_eq!(world.count(State::Creating).await, 1);
    let begun = Instant::now();
    let left = world.pool.shutdown(Duration::from_mins(10)).await;
    assert!(left.is_empty(), "{left:?}");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(world.driver.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn settings_change_without_a_restart_and_shutdown_removes() {
    let mut removing = options(1);
    removing.remove_on_shutdown = true;
    let world = world(options(4));
    boot().await;
    assert_eq!(world.count(State::Idle).await, 4);
    removing.limits.machines = 2;
    world.pool.change(removing);
    assert_eq!(
        world.pool.status().await.len(),
        4,
        "removed in the next round"
    );
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.count(State::Idle).await, 2);
    assert_eq!(world.pool.shutdown(Duration::from_mins(1)).await, []);
    assert_eq!(world.driver.count(), 0);
    assert!(matches!(world.take().await, Err(TakeError::Closed)));
}

#[tokio::test(start_paused = true)]
async fn machine_that_may_be_at_fault_does_not_keep_a_job_waiting() {
    let world = world(options(1));
    boot().await;
    let name = world.pool.status().await[0].name.clone();
    world.driver.change(|it| it.broken.insert(name.clone()));
    // Its first failed check; a machine is created in its place at once.
    sleep(Duration::from_secs(61)).await;
    let status = world.pool.status().await;
    let mut created = status.iter().filter(|it| it.state == State::Creating);
    assert!(created.next().is_some(), "{status:?}");
    assert!(world.reserve().await.is_none());
    boot().await;
    assert_ne!(world.reserve().await.unwrap().name(), name);
}

#[tokio::test(start_paused = true)]
async fn lowered_number_of_jobs_replaces_machines() {
    let mut one = options(1);
    one.limits.machines = 1;
    let world = world(one.clone());
    boot().await;
    for _ in 0..3 {
        world.reserve().await.unwrap().start();
        boot().await;
    }
    one.limits.jobs = 2;
    world.pool.change(one);
    boot().await;
    let status = world.pool.status().await;
    assert_eq!(status.len(), 1, "{status:?}");
    assert_eq!((status[0].state, status[0].jobs), (State::Idle, 0));
}

#[tokio::test(start_paused = true)]
async fn creation_that_hangs_does_not_hold_up_the_next_job() {
    let world = world(options(0));
    world.driver.change(|it| it.is_silent = true);
    let begun = Instant::now();
    let limit = Duration::from_mins(15);
    let first = world.take().await;
    assert!(matches!(first, Err(TakeError::TimedOut(it)) if it == limit));
    assert_eq!(begun.elapsed(), limit);
    world.driver.change(|it| it.is_silent = false);
    world.take().await.unwrap();
    assert_eq!(begun.elapsed(), limit + BOOT);
}

#[tokio::test(start_paused = true)]
async fn job_behind_a_creation_that_hangs_gets_its_own_in_time() {
    let world = world(options(0));
    world.driver.change(|it| it.is_silent = true);
    let begun = Instant::now();
    let left = timeout(Duration::from_mins(5), world.take()).await;
    assert!(left.is_err());
    world.driver.change(|it| it.is_silent = false);
    // It counts on the first machine, until that has taken as long as a job waits.
    world.take().await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_mins(15) + BOOT);
}

#[tokio::test(start_paused = true)]
async fn no_job_is_taken_while_the_driver_cannot_list() {
    let driver = FakeDriver::default();
    driver.change(|it| it.failing_lists = 1);
    let world = with_driver(options(0), driver);
    sleep(Duration::from_secs(1)).await;
    assert!(matches!(world.pool.acquire().await, Acquired::Unlisted(_)));
    let taken = world.pool.take(None, &Cancellation::new()).await;
    let error = taken.unwrap_err().to_string();
    assert_eq!(error, "list the machines: the cloud has no room");
    sleep(Duration::from_mins(1)).await;
    assert!(matches!(world.pool.acquire().await, Acquired::OnDemand(_)));
}
