//! Who is asked, who runs the job, and who gets what back.

use crate::support::{Terminals, options, prepare, warnings};
use executor_core::panics::catch_panic;
use executor_core::prelude::*;
use executor_core::{BoxError, chain};
use executor_layers::FallbackLayer;
use executor_testkit::{
    Directive, Failure, Lease, Moment, ScriptedAbilities, ScriptedProvider, Timeline, runner_config,
};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

struct Pair {
    first: ScriptedProvider,
    second: ScriptedProvider,
    config: RunnerConfig,
    go_on: Cancellation,
}

impl Pair {
    fn new() -> Self {
        Self {
            first: ScriptedProvider::new(),
            second: ScriptedProvider::new(),
            config: runner_config("either"),
            go_on: Cancellation::new(),
        }
    }

    fn provider(&self) -> Arc<dyn ExecutorProvider> {
        FallbackLayer::to(self.second.shared()).layer(self.first.shared())
    }

    fn provider_that_moves_on(&self) -> Arc<dyn ExecutorProvider> {
        FallbackLayer::to(self.second.shared())
            .also_after_failed_prepare()
            .layer(self.first.shared())
    }

    /// How many leases each has out.
    fn leased(&self) -> (usize, usize) {
        (self.first.leased(), self.second.leased())
    }

    #[track_caller]
    fn assert_obeyed(&self) {
        self.first.assert_obeyed();
        self.second.assert_obeyed();
    }
}

fn broken(moment: Moment, provider: &ScriptedProvider) {
    provider.on(
        moment,
        Directive::fail(Failure::permanent("the engine is gone")),
    );
}

#[tokio::test]
async fn the_next_provider_has_the_job_while_the_preferred_one_is_full() {
    let pair = Pair::new();
    pair.first.set_capacity(Some(1));
    let provider = pair.provider();
    let one = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    let two = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    assert_eq!(pair.leased(), (1, 1));
    drop(provider.create(&two).unwrap());
    assert_eq!(
        (pair.first.counts().create, pair.second.counts().create),
        (0, 1)
    );

    provider.release(&pair.config, one).await;
    assert_eq!(pair.leased(), (0, 1), "it went back to whom it came from");
    let three = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    assert_eq!(pair.leased(), (1, 1), "the preferred one is asked again");
    provider.release(&pair.config, three).await;
    provider.release(&pair.config, two).await;
    pair.assert_obeyed();
}

#[tokio::test]
async fn a_broken_provider_is_passed_over() {
    type Break = fn(&ScriptedProvider);
    let ways: [Break; 2] = [
        |provider| broken(Moment::Acquire, provider),
        |provider| provider.refuse_to_create("no container engine"),
    ];
    for break_it in ways {
        let pair = Pair::new();
        break_it(&pair.first);
        let provider = pair.provider();
        provider.can_create().unwrap();
        let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
        assert_eq!(pair.leased(), (0, 1));
        provider.release(&pair.config, data).await;
        pair.assert_obeyed();
    }
}

#[tokio::test]
async fn when_all_refuse_the_most_hopeful_speaks() {
    let pair = Pair::new();
    broken(Moment::Acquire, &pair.first);
    pair.second.set_capacity(Some(0));
    let provider = pair.provider();
    let error = provider
        .acquire(&pair.config, &pair.go_on)
        .await
        .unwrap_err();
    assert!(matches!(error, AcquireError::NoFreeExecutor), "{error}");

    pair.second.refuse_to_create("no shell");
    let error = provider
        .acquire(&pair.config, &pair.go_on)
        .await
        .unwrap_err();
    let expect = "acquire an executor: scripted: the engine is gone";
    assert_eq!(chain(&error), expect);
    provider.can_create().unwrap();
    pair.first.refuse_to_create("no container engine");
    let error = provider.can_create().unwrap_err();
    assert_eq!(error.to_string(), "no container engine");
}

#[tokio::test]
async fn a_stop_while_one_is_asked_asks_no_further_one() {
    let pair = Pair::new();
    pair.first.on(Moment::Acquire, Directive::hang());
    let provider = pair.provider();
    let (acquired, ()) = tokio::join!(provider.acquire(&pair.config, &pair.go_on), async {
        pair.first
            .timeline()
            .wait_for_line("provider.acquire")
            .await;
        pair.go_on.cancel(CancelCause::Shutdown);
    });
    let error = acquired.unwrap_err();
    assert!(
        matches!(error, AcquireError::Canceled(CancelCause::Shutdown)),
        "{error}"
    );
    assert_eq!(pair.second.counts().acquire, 0);
}

#[tokio::test]
async fn a_failed_preparation_goes_on_elsewhere_when_wanted() {
    let timeline = Timeline::new();
    let pair = Pair {
        second: ScriptedProvider::with_timeline(&timeline),
        first: ScriptedProvider::with_timeline(&timeline),
        ..Pair::new()
    };
    broken(Moment::Prepare, &pair.first);
    let provider = pair.provider_that_moves_on();
    let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    let stage = executor.stage_cell();
    let (options, trace) = options();
    executor.prepare(options, &pair.go_on).await.unwrap();
    assert_eq!(stage.get(), ExecutorStage::PREPARE);
    executor.cleanup().await.unwrap();
    assert_eq!(stage.get(), ExecutorStage::CLEANUP);
    provider.release(&pair.config, data).await;
    assert_eq!(
        timeline.lines_of(&["provider", "executor"]),
        [
            "provider.can_create",
            "provider.acquire",
            "provider.create(1)",
            "provider.features",
            "provider.features",
            "executor(1).prepare",
            "provider.can_create",
            "provider.acquire",
            "executor(1).cleanup",
            "provider.release",
            "provider.create(1)",
            "executor(1).prepare",
            "executor(1).cleanup",
            "provider.release",
        ]
    );
    let lines = warnings(&trace);
    let expect = "failed to prepare, trying provider 2 of 2 next: scripted: the engine is gone";
    assert!(lines[0].contains(expect), "{lines:?}");
    pair.assert_obeyed();
}

#[tokio::test]
async fn without_that_wish_or_with_the_job_at_fault_it_fails() {
    let config_error = Failure::with(|| BuildError::config("no such user"));
    let system_error = Failure::permanent("the engine is gone");
    for (failure, moves_on) in [(config_error, true), (system_error, false)] {
        let pair = Pair::new();
        pair.first.on(Moment::Prepare, Directive::fail(failure));
        let provider = if moves_on {
            pair.provider_that_moves_on()
        } else {
            pair.provider()
        };
        let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
        let mut executor = provider.create(&data).unwrap();
        prepare(&mut *executor).await.unwrap_err();
        executor.cleanup().await.unwrap();
        provider.release(&pair.config, data).await;
        assert_eq!(pair.second.counts().acquire, 0);
        pair.assert_obeyed();
    }
}

#[tokio::test]
async fn when_nobody_else_has_capacity_the_first_failure_counts_and_may_be_tried_again() {
    let pair = Pair::new();
    let fails_once = Directive::fail(Failure::temporary("connect")).times(1);
    pair.first.on(Moment::Prepare, fails_once);
    pair.second.set_capacity(Some(0));
    let provider = pair.provider_that_moves_on();
    let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    let error = prepare(&mut *executor).await.unwrap_err();
    assert_eq!(error.to_string(), "scripted: connect");
    executor.cleanup().await.unwrap();

    let mut again = provider.create(&data).unwrap();
    prepare(&mut *again).await.unwrap();
    again.cleanup().await.unwrap();
    provider.release(&pair.config, data).await;
    assert_eq!(pair.first.counts().create, 2);
    pair.assert_obeyed();
}

#[tokio::test]
async fn a_further_executor_is_that_of_the_provider_the_job_went_to() {
    let pair = Pair::new();
    broken(Moment::Prepare, &pair.first);
    let fails_once = Directive::fail(Failure::temporary("connect")).times(1);
    pair.second.on(Moment::Prepare, fails_once);
    let provider = pair.provider_that_moves_on();
    let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    prepare(&mut *executor).await.unwrap_err();
    executor.cleanup().await.unwrap();
    assert_eq!(pair.leased(), (0, 1));

    let mut again = provider.create(&data).unwrap();
    prepare(&mut *again).await.unwrap();
    again.cleanup().await.unwrap();
    provider.release(&pair.config, data).await;
    assert_eq!(
        (pair.first.counts().create, pair.second.counts().create),
        (1, 2)
    );
    // Both of them had a lease with the number 1, and complain about one that is not out.
    pair.assert_obeyed();
}

#[tokio::test]
async fn after_a_panic_on_the_way_all_capacity_comes_back() {
    let pair = Pair::new();
    broken(Moment::Prepare, &pair.first);
    pair.second
        .on(Moment::Create, Directive::fail(Failure::panic("a bug")));
    let provider = pair.provider_that_moves_on();
    let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    let executor = Arc::new(Mutex::new(provider.create(&data).unwrap()));
    let mut task = JoinSet::new();
    let panics = Arc::clone(&executor);
    task.spawn(async move { prepare(&mut **panics.lock().await).await });
    assert!(task.join_next().await.unwrap().unwrap_err().is_panic());
    executor.lock().await.cleanup().await.unwrap();
    provider.release(&pair.config, data).await;
    assert_eq!(pair.leased(), (0, 0));
    pair.assert_obeyed();
}

#[tokio::test]
async fn what_is_promised_is_what_all_have() {
    let pair = Pair::new();
    let all = FeaturesInfo {
        variables: true,
        terminal: true,
        ..FeaturesInfo::default()
    };
    let with_terminal = || ScriptedAbilities {
        terminal: Some(Arc::new(Terminals)),
        ..ScriptedAbilities::default()
    };
    pair.first.set_features(all);
    pair.first.set_abilities(with_terminal());
    let provider = pair.provider();
    let promised = |provider: &dyn ExecutorProvider| {
        let mut features = FeaturesInfo::default();
        provider.features(&mut features).unwrap();
        features.names()
    };
    let has_terminal = async || {
        let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
        let executor = provider.create(&data).unwrap();
        let has = executor.abilities().terminal.is_some();
        drop(executor);
        provider.release(&pair.config, data).await;
        has
    };
    pair.second.set_features(FeaturesInfo {
        terminal: false,
        ..all
    });
    assert_eq!(promised(&*provider), ["variables"]);
    assert!(!has_terminal().await);
    pair.second.set_features(all);
    assert_eq!(promised(&*provider), ["variables", "terminal"]);
    assert!(has_terminal().await);
}

#[tokio::test]
async fn the_preferred_provider_describes_all_and_every_one_starts_and_ends() {
    let pair = Pair::new();
    let info = |gpus: &str| ConfigInfo {
        gpus: gpus.to_owned(),
    };
    pair.first.set_config_info(info("all"));
    pair.second.set_config_info(info("none"));
    pair.second.set_default_shell(Some(ShellDialect::Bash));
    let provider = pair.provider();
    let mut told = ConfigInfo::default();
    provider.config_info(&pair.config, &mut told);
    assert_eq!(told, info("all"));
    assert_eq!(provider.default_shell(), Some(ShellDialect::Sh));
    provider.init().unwrap();
    provider
        .shutdown(std::time::Duration::from_secs(1))
        .await
        .unwrap();
    for provider in [&pair.first, &pair.second] {
        assert_eq!((provider.counts().init, provider.counts().shutdown), (1, 1));
    }
}

#[tokio::test]
async fn the_data_of_each_provider_is_found_and_foreign_data_is_refused() -> Result<(), BoxError> {
    let pair = Pair::new();
    let inner = pair.provider();
    let outer = FallbackLayer::to(ScriptedProvider::new().shared()).layer(inner);
    let data = outer.acquire(&pair.config, &pair.go_on).await?;
    assert_eq!(data.get::<Lease>(), Some(&Lease { number: 1 }));
    outer.create(&data)?.cleanup().await?;
    outer.release(&pair.config, data).await;

    let error = outer.create(&ExecutorData::new()).unwrap_err();
    assert_eq!(error.to_string(), "no provider is acquired for the job");
    outer.release(&pair.config, ExecutorData::new()).await;
    pair.assert_obeyed();
    Ok(())
}

#[tokio::test]
async fn one_that_panics_at_release_keeps_nothing_from_the_others() {
    let pair = Pair::new();
    broken(Moment::Prepare, &pair.first);
    let panics = || Directive::fail(Failure::panic("a bug at the end"));
    pair.first.on(Moment::Cleanup, panics());
    pair.first.on(Moment::Release, panics());
    pair.second.on(Moment::Release, panics());
    let provider = pair.provider_that_moves_on();
    let data = provider.acquire(&pair.config, &pair.go_on).await.unwrap();
    let mut executor = provider.create(&data).unwrap();
    // The panic of a cleanup on the way leaves both with what they have reserved.
    catch_panic(prepare(&mut *executor)).await.unwrap_err();
    assert_eq!(pair.leased(), (1, 1));
    drop(executor);

    let panic = catch_panic(provider.release(&pair.config, data)).await;
    assert_eq!(panic.unwrap_err().to_string(), "a bug at the end");
    assert_eq!(pair.leased(), (0, 0));
}
