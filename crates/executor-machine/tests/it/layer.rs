use crate::driver::{FakeDriver, Machines, options};
use executor_core::prelude::*;
use executor_core::{AcquireError, BuildStage, Endpoint, FeaturesInfo, JobOutcome};
use executor_machine::machine::State;
use executor_machine::{MachineLayer, PoolOptions};
use executor_testkit::{
    CommandBuilder, Directive, Failure, Moment, OptionsBuilder, ScriptedProvider, runner_config,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// The layer around a provider that notes the endpoints it gets.
struct World {
    provider: Arc<dyn ExecutorProvider>,
    inner: ScriptedProvider,
    layer: MachineLayer,
    driver: FakeDriver,
    endpoints: Arc<Mutex<Vec<Endpoint>>>,
}

fn world(options: PoolOptions) -> World {
    let (inner, driver) = (ScriptedProvider::new(), FakeDriver::default());
    let layer = MachineLayer::new(options, driver.shared());
    let endpoints = Arc::new(Mutex::new(Vec::new()));
    let (creating, noted) = (inner.clone(), Arc::clone(&endpoints));
    let noting = DefaultExecutorProvider::new(ShellDialect::Bash)
        .with_creator(move |data: &ExecutorData| {
            noted.lock().extend(data.get::<Endpoint>().cloned());
            creating.create(data)
        })
        .with_features(|features| features.services = true)
        .with_config_info(|_, info| "all".clone_into(&mut info.gpus));
    let provider = ProviderStack::new(noting).layer(&layer).build();
    provider.init().expect("the tests have a runtime");
    World {
        provider,
        inner,
        layer,
        driver,
        endpoints,
    }
}

impl World {
    async fn acquire(&self) -> Result<ExecutorData, AcquireError> {
        let config = runner_config("fleet");
        self.provider.acquire(&config, &Cancellation::new()).await
    }

    async fn release(&self, data: ExecutorData) {
        self.provider.release(&runner_config("fleet"), data).await;
    }

    async fn states(&self) -> Vec<State> {
        let all = self.layer.pool().status().await;
        all.into_iter().map(|machine| machine.state).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn job_runs_on_its_machine() {
    // R-EXEC-71, R-EXEC-89, R-EXEC-98
    let world = world(options(1));
    assert!(matches!(
        world.acquire().await,
        Err(AcquireError::NoFreeExecutor)
    ));
    sleep(Duration::from_mins(1)).await;
    let data = world.acquire().await.unwrap();
    assert_eq!(world.states().await[0], State::Acquired);
    let mut executor = world.provider.create(&data).unwrap();
    assert_eq!(executor.shell().dialect, ShellDialect::Sh);
    assert_eq!(world.endpoints.lock().len(), 0);
    let stage = executor.stage_cell();
    let go_on = Cancellation::new();
    executor
        .prepare(OptionsBuilder::new().build(), &go_on)
        .await
        .unwrap();
    let name = world
        .layer
        .pool()
        .status()
        .await
        .into_iter()
        .find(|it| it.state == State::Used);
    let host = format!("tcp://{}:2376", name.unwrap().name);
    assert!(
        matches!(&world.endpoints.lock()[..], [Endpoint::Engine { host: it, .. }] if *it == host)
    );
    executor
        .run(CommandBuilder::new("make").build(), &go_on)
        .await
        .unwrap();
    executor.set_current_stage(ExecutorStage::RUN);
    assert_eq!(
        (executor.current_stage(), stage.get()),
        (ExecutorStage::RUN, ExecutorStage::RUN)
    );
    executor.finish(&JobOutcome::success()).await;
    executor.cleanup().await.unwrap();
    drop(executor);
    assert!(
        world.states().await.contains(&State::Used),
        "it is released by `release`"
    );
    world.release(data).await;
    assert!(!world.states().await.contains(&State::Used));
    let lines = world.inner.timeline().lines();
    assert_eq!(lines.last().unwrap(), "executor(2).cleanup");
    world.inner.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn description_is_that_of_the_inner_provider() {
    // R-EXEC-84
    let world = world(options(0));
    let mut features = FeaturesInfo::default();
    world.provider.features(&mut features).unwrap();
    assert!(features.services);
    let mut info = ConfigInfo::default();
    world
        .provider
        .config_info(&runner_config("fleet"), &mut info);
    assert_eq!(info.gpus, "all");
    assert_eq!(world.provider.default_shell(), Some(ShellDialect::Bash));
    world.provider.can_create().unwrap();
    let foreign = world.provider.create(&ExecutorData::new()).unwrap_err();
    assert!(foreign.to_string().contains("`acquire`"));
}

#[tokio::test(start_paused = true)]
async fn attempt_after_a_failed_one_gets_another_machine() {
    // R-EXEC-95
    let world = world(options(0));
    let failing = Directive::fail(Failure::temporary("connect to the engine")).times(1);
    world.inner.on(Moment::Prepare, failing);
    let data = world.acquire().await.unwrap();
    assert_eq!(world.states().await, []);
    for is_good in [false, true] {
        let mut executor = world.provider.create(&data).unwrap();
        let options = OptionsBuilder::new().build();
        let prepared = executor.prepare(options, &Cancellation::new()).await;
        assert_eq!(prepared.is_ok(), is_good);
        if !is_good {
            let all = |it: &mut Machines| it.broken.extend(it.existing.keys().cloned());
            world.driver.change(all);
        }
        executor.cleanup().await.unwrap();
    }
    let endpoints = world.endpoints.lock().clone();
    assert_ne!(endpoints[0], endpoints[1]);
    world.release(data).await;
    assert_eq!(world.states().await, [State::Idle]);
    assert_eq!(world.driver.count(), 1);
    world.inner.assert_obeyed();
}

#[tokio::test(start_paused = true)]
async fn machine_that_cannot_be_cleaned_is_checked() {
    // R-EXEC-99
    let world = world(options(0));
    world.inner.on(
        Moment::Cleanup,
        Directive::fail(Failure::permanent("remove the container")),
    );
    let data = world.acquire().await.unwrap();
    let mut executor = world.provider.create(&data).unwrap();
    executor
        .prepare(OptionsBuilder::new().build(), &Cancellation::new())
        .await
        .unwrap();
    executor.cleanup().await.unwrap_err();
    drop(executor);
    world.release(data).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.driver.calls("check"), 1);
    assert_eq!(world.states().await, [State::Idle]);
}

/// A job gets no machine that has died while it was idle, although no check was due.
#[tokio::test(start_paused = true)]
async fn idle_machine_is_checked_before_its_job() {
    // R-EXEC-95
    let world = world(options(1));
    sleep(Duration::from_secs(170)).await;
    let dead = world.layer.pool().status().await[0].name.clone();
    world.driver.change(|it| it.broken.insert(dead.clone()));
    for _ in 0..2 {
        let data = world.acquire().await.unwrap();
        let mut executor = world.provider.create(&data).unwrap();
        let options = OptionsBuilder::new().build();
        let prepared = executor.prepare(options, &Cancellation::new()).await;
        prepared.unwrap();
        executor.cleanup().await.unwrap();
        drop(executor);
        world.release(data).await;
    }
    let endpoints = world.endpoints.lock().clone();
    assert_eq!(endpoints[0], endpoints[1]);
    assert!(!format!("{:?}", endpoints[0]).contains(&dead));
    // A new machine, and one whose job has just ended, are known to answer.
    let all = world.driver.change(|it| it.calls.clone());
    let own = all
        .iter()
        .filter(|it| it.starts_with("check") && !it.contains(&dead));
    assert_eq!(own.count(), 0, "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn failed_creation_fails_the_job() {
    // R-EXEC-87, R-EXEC-95
    let world = world(options(0));
    world.driver.change(|it| it.failing_creations = 1);
    let data = world.acquire().await.unwrap();
    let mut executor = world.provider.create(&data).unwrap();
    let options = OptionsBuilder::new().build();
    let error = executor
        .prepare(options, &Cancellation::new())
        .await
        .unwrap_err();
    assert!(error.is_temporary());
    assert!(
        error.chain().ends_with("the cloud has no room"),
        "{}",
        error.chain()
    );
    executor.cleanup().await.unwrap();
    world.release(data).await;
    assert_eq!(world.driver.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_names_the_machines_that_are_left() {
    let mut options = options(1);
    options.remove_on_shutdown = true;
    let world = world(options);
    sleep(Duration::from_mins(1)).await;
    world.driver.change(|it| it.failing_removals = 100);
    let error = world
        .provider
        .shutdown(Duration::from_mins(1))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("still being created or removed"),
        "{error}"
    );
    assert!(error.to_string().contains("runner-abc-"), "{error}");
    world.driver.change(|it| it.failing_removals = 0);
    world
        .provider
        .shutdown(Duration::from_mins(5))
        .await
        .unwrap();
    assert_eq!(world.driver.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn shutdown_without_a_start_ends() {
    let inner = ScriptedProvider::new();
    let layer = MachineLayer::new(options(1), FakeDriver::default().shared());
    let provider = ProviderStack::new(inner).layer(&layer).build();
    provider.shutdown(Duration::from_mins(1)).await.unwrap();
    let config = runner_config("fleet");
    let acquired = provider.acquire(&config, &Cancellation::new()).await;
    assert!(matches!(acquired, Err(AcquireError::NoFreeExecutor)));
}

#[tokio::test(start_paused = true)]
async fn calls_are_those_of_the_inner_executor() {
    // R-EXEC-85, R-EXEC-94, R-EXEC-97
    let world = world(options(0));
    world.inner.on(BuildStage::script(), Directive::exit(3));
    let data = world.acquire().await.unwrap();
    let mut executor = world.provider.create(&data).unwrap();
    assert_eq!(executor.shell().dialect, ShellDialect::Sh);
    let go_on = Cancellation::new();
    let options = OptionsBuilder::new().build();
    executor.prepare(options, &go_on).await.unwrap();
    let command = CommandBuilder::new("make").build();
    let result = executor.run(command, &go_on).await.unwrap();
    assert_eq!(result.status.exit_code().0, 3);
    executor.set_current_stage(ExecutorStage::FINISH);
    assert_eq!(executor.current_stage(), ExecutorStage::FINISH);
    executor.finish(&JobOutcome::success()).await;
    executor.cleanup().await.unwrap();
    let lines = world.inner.timeline().lines();
    let calls: Vec<_> = lines
        .iter()
        .filter_map(|it| it.strip_prefix("executor(2)."))
        .collect();
    assert_eq!(
        calls,
        ["prepare", "run(step_script)", "finish(success)", "cleanup"]
    );
    drop(executor);
    world.release(data).await;
}

#[tokio::test(start_paused = true)]
async fn cleanup_that_is_cut_off_has_its_machine_checked() {
    let world = world(options(0));
    world.inner.on(Moment::Cleanup, Directive::hang());
    let data = world.acquire().await.unwrap();
    let mut executor = world.provider.create(&data).unwrap();
    let options = OptionsBuilder::new().build();
    executor
        .prepare(options, &Cancellation::new())
        .await
        .unwrap();
    let cut_off = tokio::time::timeout(Duration::from_secs(5), executor.cleanup()).await;
    assert!(cut_off.is_err());
    drop(executor);
    world.release(data).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.driver.calls("check"), 1);
}
