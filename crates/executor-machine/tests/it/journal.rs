//! Pools that end without a word, as with `kill -9`, and the next ones. The journal is a real file; the machines are not.

use crate::driver::{BOOT, FakeDriver, options};
use executor_core::Endpoint;
use executor_core::ability::{Resumable, ResumeHandle, ResumeObserver};
use executor_core::prelude::*;
use executor_machine::machine::State;
use executor_machine::{
    Acquired, Journal, JournalError, Lease, MachineLayer, MachineStatus, Pool, PoolOptions,
    Records, TakeError,
};
use executor_testkit::{OptionsBuilder, ScriptedAbilities, ScriptedProvider, runner_config};
use parking_lot::Mutex;
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Where the pools of a test, one after the other, have their machines and their journal.
struct World {
    driver: FakeDriver,
    directory: TempDir,
}

/// A pool that is killed when it is dropped.
struct Process {
    pool: Pool,
    tasks: JoinSet<()>,
}

impl World {
    fn new() -> Self {
        Self {
            driver: FakeDriver::default(),
            directory: TempDir::new().expect("a directory"),
        }
    }

    fn journal(&self) -> Journal {
        Journal::open(self.directory.path()).expect("a journal")
    }

    fn records(&self) -> Records {
        Records {
            journal: Some(self.journal()),
            metrics: None,
        }
    }

    fn start(&self, options: PoolOptions) -> Process {
        let (pool, owner) = Pool::new(options, self.driver.shared(), self.records());
        let mut tasks = JoinSet::new();
        tasks.spawn(owner);
        Process { pool, tasks }
    }
}

impl Process {
    async fn reserve(&self) -> Lease {
        match self.pool.acquire().await {
            Acquired::Reserved(lease) => lease,
            other => panic!("no slot is free: {other:?}"),
        }
    }

    async fn only(&self) -> MachineStatus {
        let mut all = self.pool.status().await;
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Ends as with `kill -9`. Leases that are left say nothing any more.
    async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Longer than a machine takes to boot; the time is virtual.
async fn boot() {
    sleep(BOOT + Duration::from_secs(1)).await;
}

/// At most one machine, which is kept idle.
fn one() -> PoolOptions {
    let mut options = options(1);
    options.limits.machines = 1;
    options
}

#[tokio::test(start_paused = true)]
async fn machine_has_no_more_jobs_than_it_may_over_two_processes() {
    // R-EXEC-91
    let world = World::new();
    let mut options = one();
    options.limits.jobs = 2;
    let first = world.start(options.clone());
    boot().await;
    let lease = first.reserve().await;
    let name = lease.name().to_owned();
    lease.start();
    drop(lease);
    assert_eq!(first.only().await.jobs, 1);
    first.kill().await;

    let second = world.start(options);
    sleep(Duration::from_secs(1)).await;
    let lease = second.reserve().await;
    assert_eq!(lease.name(), name, "it may have one more");
    lease.start();
    drop(lease);
    boot().await;
    let next = second.only().await;
    assert_ne!(next.name, name);
    assert_eq!(next.jobs, 0);
}

#[tokio::test(start_paused = true)]
async fn idle_time_goes_on_over_a_restart() {
    let world = World::new();
    let mut options = options(1);
    let first = world.start(options.clone());
    boot().await;
    assert_eq!(first.only().await.state, State::Idle);
    first.kill().await;
    // Eight minutes pass; the clock of the journal is the real one.
    let path = world.directory.path().join("machines.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let mut line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let since = &mut line["machine"]["since"]["secs"];
    *since = (since.as_u64().unwrap() - 8 * 60).into();
    fs::write(&path, format!("{line}\n")).unwrap();
    options.schedule.otherwise.idle = executor_machine::schedule::Idle::Fixed(0);
    let second = world.start(options);
    sleep(Duration::from_mins(1)).await;
    assert_eq!(second.only().await.state, State::Idle);
    sleep(Duration::from_mins(2)).await;
    assert_eq!(world.driver.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn job_of_a_killed_process_continues_on_its_machine() {
    // R-EXEC-81
    for has_begun in [true, false] {
        let world = World::new();
        let first = world.start(one());
        boot().await;
        let lease = first.reserve().await;
        let name = lease.name().to_owned();
        if has_begun {
            lease.start();
            assert_eq!(first.only().await.state, State::Used);
        }
        first.kill().await;
        drop(lease);

        let second = world.start(one());
        sleep(Duration::from_secs(1)).await;
        assert_eq!(second.only().await.state, State::Used);
        let Acquired::OnDemand(_promise) = second.pool.acquire().await else {
            panic!("the job that continues needs no machine of its own");
        };
        assert!(matches!(second.pool.acquire().await, Acquired::Full));
        let lease = second.pool.retake(&name, &Cancellation::new()).await;
        let lease = lease.unwrap();
        sleep(Duration::from_hours(1)).await;
        assert_eq!(
            second.only().await.state,
            State::Used,
            "for as long as it takes"
        );
        drop(lease);
        let machine = second.only().await;
        assert_eq!((machine.state, machine.jobs), (State::Idle, 1));
        let again = second.pool.retake(&name, &Cancellation::new()).await;
        assert!(matches!(again, Err(TakeError::Gone(gone)) if gone == name));
    }
}

#[tokio::test(start_paused = true)]
async fn machine_whose_job_is_not_continued_is_removed() {
    let world = World::new();
    let first = world.start(one());
    boot().await;
    let lease = first.reserve().await;
    lease.start();
    let name = first.only().await.name;
    first.kill().await;

    let options = PoolOptions {
        orphan_timeout: Duration::from_mins(5),
        ..one()
    };
    let second = world.start(options);
    sleep(Duration::from_mins(4)).await;
    assert_eq!(second.only().await.name, name);
    let go_on = Cancellation::new();
    let taken = second.pool.take(None, &go_on);
    let taken = tokio::time::timeout(Duration::from_mins(3), taken).await;
    let lease = taken.expect("in time").expect("a machine");
    assert_ne!(lease.name(), name);
    assert!(!world.driver.change(|it| it.existing.contains_key(&name)));
}

#[tokio::test(start_paused = true)]
async fn machine_with_a_job_is_reached_in_spite_of_errors() {
    let world = World::new();
    let first = world.start(one());
    boot().await;
    let lease = first.reserve().await;
    lease.start();
    let name = first.only().await.name;
    first.kill().await;
    drop(lease);
    world.driver.change(|it| it.failing_creations = 3);
    let second = world.start(one());
    let lease = second.pool.retake(&name, &Cancellation::new()).await;
    assert_eq!(lease.unwrap().name(), name);
}

#[tokio::test(start_paused = true)]
async fn creation_without_an_answer_is_removed_although_it_is_not_listed() {
    let world = World::new();
    world.driver.change(|it| it.is_silent = true);
    let first = world.start(one());
    sleep(Duration::from_secs(1)).await;
    let name = first.only().await.name;
    first.kill().await;
    // The cloud has not heard of it yet.
    world.driver.change(|it| {
        it.existing.clear();
        it.is_silent = false;
    });
    let second = world.start(one());
    boot().await;
    assert_ne!(second.only().await.name, name);
    let removal = format!("remove {name}");
    assert_eq!(world.driver.calls(&removal), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_after_a_kill_in_any_state() {
    for state in State::ALL {
        let world = World::new();
        let mut options = one();
        options.limits.jobs = 1;
        let first = world.start(options.clone());
        sleep(Duration::from_secs(1)).await;
        let mut leases = Vec::new();
        if state != State::Creating {
            boot().await;
        }
        if matches!(state, State::Acquired | State::Used | State::Removing) {
            leases.push(first.reserve().await);
        }
        if matches!(state, State::Used | State::Removing) {
            leases[0].start();
        }
        if state == State::Removing {
            world.driver.change(|it| it.failing_removals = 1);
            leases.clear();
            sleep(Duration::from_secs(1)).await;
        }
        let machine = first.only().await;
        assert_eq!(machine.state, state);
        first.kill().await;

        options.remove_on_shutdown = true;
        let second = world.start(options);
        sleep(Duration::from_secs(1)).await;
        let kept = world
            .driver
            .change(|it| it.existing.contains_key(&machine.name));
        assert_eq!(kept, state != State::Removing, "{state}");
        assert_eq!(second.pool.shutdown(Duration::from_mins(5)).await, []);
        assert_eq!(world.driver.count(), 0, "{state}");
        second.kill().await;
        assert_eq!(Journal::read(world.directory.path()).unwrap().len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn journal_belongs_to_one_process_and_survives_half_a_line() {
    let world = World::new();
    let first = world.start(one());
    boot().await;
    first.only().await;
    let refused = Journal::open(world.directory.path()).unwrap_err();
    assert!(matches!(refused, JournalError::Busy(_)), "{refused}");
    first.kill().await;
    let path = world.directory.path().join("machines.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"name\":\"runner-abc-1-0000")).unwrap();
    assert_eq!(Journal::read(world.directory.path()).unwrap().len(), 1);
    drop(world.journal());
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 1, "written anew: {text}");
}

/// An environment of the inner executor.
#[derive(Debug)]
struct Container;

fn container() -> ResumeHandle {
    ResumeHandle {
        executor: "scripted".to_owned(),
        fields: [("container".to_owned(), "c1".to_owned())].into(),
    }
}

impl Resumable for Container {
    fn resume_handle(&self) -> Option<ResumeHandle> {
        Some(container())
    }
}

#[tokio::test(start_paused = true)]
async fn handle_of_a_job_names_its_machine() {
    let world = World::new();
    let inner = ScriptedProvider::new();
    inner.set_abilities(ScriptedAbilities {
        resumable: Some(Arc::new(Container)),
        ..ScriptedAbilities::default()
    });
    let start = || {
        let layer = MachineLayer::with_records(one(), world.driver.shared(), world.records());
        let inner = inner.clone();
        let reporting = DefaultExecutorProvider::new(ShellDialect::Sh).with_creator(
            move |data: &ExecutorData| {
                let observer = data.get::<ResumeObserver>();
                if let Some(observer) = observer.filter(|_| data.get::<Endpoint>().is_some()) {
                    observer.notify(&container());
                }
                inner.create(data)
            },
        );
        let provider = ProviderStack::new(reporting).layer(&layer).build();
        provider.init().unwrap();
        (layer, provider)
    };
    let (config, go_on) = (runner_config("fleet"), Cancellation::new());
    let reported = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&reported);
    let (layer, provider) = start();
    boot().await;
    let data = provider.acquire(&config, &go_on).await.unwrap();
    let data = data.with(ResumeObserver::new(move |handle| {
        noted.lock().push(handle.clone());
    }));
    let mut executor = provider.create(&data).unwrap();
    let prepared = executor
        .prepare(OptionsBuilder::new().build(), &go_on)
        .await;
    prepared.unwrap();
    let name = layer.pool().status().await[0].name.clone();
    let mut there = container();
    there.fields.insert("machine".to_owned(), name.clone());
    let resumable = executor.abilities().resumable.unwrap();
    assert_eq!(resumable.resume_handle().as_ref(), Some(&there));
    assert_eq!(*reported.lock(), [there.clone()]);
    // The pool ends while the job has its machine.
    provider.shutdown(Duration::from_secs(5)).await.unwrap();

    let (layer, provider) = start();
    sleep(Duration::from_secs(1)).await;
    let data = provider.acquire(&config, &go_on).await.unwrap().with(there);
    let mut executor = provider.create(&data).unwrap();
    let prepared = executor
        .prepare(OptionsBuilder::new().build(), &go_on)
        .await;
    prepared.unwrap();
    assert_eq!(
        executor
            .abilities()
            .resumable
            .unwrap()
            .resume_handle()
            .unwrap()
            .fields["machine"],
        name
    );
    executor.cleanup().await.unwrap();
    provider.release(&config, data).await;
    let machine = layer.pool().status().await.remove(0);
    assert_eq!(
        (machine.name, machine.state, machine.jobs),
        (name, State::Idle, 1)
    );
}
