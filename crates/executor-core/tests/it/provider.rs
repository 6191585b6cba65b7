//! What every provider is asked.

use crate::independent::Independent;
use crate::support::Bench;
use executor_core::TurnOutcome;
use executor_core::prelude::*;
use executor_testkit::{Lease, ScriptedProvider, SuiteOptions, conformance, runner_config};

#[test]
fn can_create_says_what_is_missing() {
    // R-EXEC-10
    let provider = ScriptedProvider::new();
    assert!(provider.can_create().is_ok());
    provider.refuse_to_create("no container engine");
    assert_eq!(
        provider.can_create().unwrap_err().to_string(),
        "no container engine"
    );
    assert_eq!(provider.counts().create, 0, "the check creates nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_executors_hold_no_process_and_no_file() {
    // R-EXEC-11
    let provider = DefaultExecutorProvider::new(ShellDialect::Sh)
        .with_creator(|_data| Ok(Box::new(Independent::new())));
    let options = SuiteOptions::new(runner_config("independent"));
    let options = options.only(["create_allocates_nothing"]);
    conformance(Arc::new(provider), options)
        .await
        .assert_part_passed();
}

#[tokio::test]
async fn acquire_reserves_and_its_data_reaches_the_executor() {
    let provider = ScriptedProvider::new();
    let config = runner_config("scripted");
    let data = provider
        .acquire(&config, &Cancellation::new())
        .await
        .unwrap();
    assert_eq!(data.get::<Lease>(), Some(&Lease { number: 1 }));
    assert_eq!(provider.leased(), 1);
    drop(provider.create(&data).unwrap());
    // An executor on a lease that was never given is not what the contract says.
    drop(
        provider
            .create(&ExecutorData::new().with(Lease { number: 9 }))
            .unwrap(),
    );
    assert_eq!(
        provider.violations(),
        ["provider: create with lease 9, which is not out"]
    );
    provider.release(&config, data).await;
}

#[tokio::test]
async fn release_frees_what_acquire_reserved() {
    let provider = ScriptedProvider::new();
    provider.set_capacity(Some(1));
    let config = runner_config("scripted");
    for round in 1..=3 {
        let data = provider
            .acquire(&config, &Cancellation::new())
            .await
            .unwrap();
        assert_eq!(data.get::<Lease>(), Some(&Lease { number: round }));
        assert_eq!(provider.leased(), 1);
        provider.release(&config, data).await;
        assert_eq!(provider.leased(), 0);
    }
    provider.assert_obeyed();
}

#[test]
fn each_executor_has_a_table_of_features_of_its_own() {
    let check = |set: fn(&mut FeaturesInfo), expect: &[&str]| {
        let provider = DefaultExecutorProvider::new(ShellDialect::Sh).with_features(set);
        let mut features = FeaturesInfo::default();
        provider.features(&mut features).unwrap();
        assert_eq!(features.names(), expect);
    };
    check(|_| {}, &[]);
    check(|features| features.variables = true, &["variables"]);
    check(
        |features| {
            features.services = true;
            features.image = true;
            features.terminal = true;
        },
        &["image", "services", "terminal"],
    );
}

#[tokio::test]
async fn details_of_the_configuration_are_in_the_request() {
    let bench = Bench::new();
    bench.provider.set_config_info(ConfigInfo {
        gpus: "all".to_owned(),
    });
    bench
        .worker()
        .take_turn(&Cancellation::new())
        .await
        .unwrap();
    let request = bench.source.requests().remove(0);
    assert_eq!(request.config_info.gpus, "all");
}

#[tokio::test]
async fn the_default_shell_is_that_of_the_request_unless_the_settings_choose() {
    // R-EXEC-16
    let bench = Bench::new();
    bench.provider.set_default_shell(Some(ShellDialect::Bash));
    let mut worker = bench.worker();
    worker.take_turn(&Cancellation::new()).await.unwrap();
    let mut config = runner_config("scripted");
    config.shell = Some(ShellDialect::Pwsh);
    worker.config = Arc::new(config);
    worker.take_turn(&Cancellation::new()).await.unwrap();
    let shells: Vec<_> = bench
        .source
        .requests()
        .iter()
        .map(|request| request.shell)
        .collect();
    assert_eq!(shells, [ShellDialect::Bash, ShellDialect::Pwsh]);
}

#[tokio::test]
async fn a_provider_of_ones_own_may_hold_resources_and_the_default_one_need_not() {
    // R-EXEC-19
    let bench = Bench::new();
    bench.provider.set_capacity(Some(1));
    bench.hand_out(1);
    bench.hand_out(2);
    let own = bench.worker();
    assert_eq!(
        own.take_turn(&Cancellation::new()).await.unwrap(),
        TurnOutcome::RanJob
    );
    bench.provider.assert_obeyed();
    let default = DefaultExecutorProvider::new(ShellDialect::Sh)
        .with_creator(|_data| Ok(Box::new(Independent::new())));
    let default = executor_core::Worker {
        provider: Arc::new(default),
        ..own
    };
    assert_eq!(
        default.take_turn(&Cancellation::new()).await.unwrap(),
        TurnOutcome::RanJob
    );
    assert_eq!(bench.provider.counts().acquire, 1);
}

#[tokio::test]
async fn runners_may_use_one_provider_with_settings_of_their_own() {
    #[derive(Debug, PartialEq)]
    struct Board(&'static str);
    let bench = Bench::new();
    for (id, board) in [(1, "left"), (2, "right")] {
        bench.hand_out(id);
        let worker = executor_core::Worker {
            config: Arc::new(RunnerConfig {
                settings: ExecutorSettings::of(Board(board)),
                ..RunnerConfig::new(board, "scripted")
            }),
            ..bench.worker()
        };
        let turn = worker.take_turn(&Cancellation::new()).await.unwrap();
        assert_eq!(turn, TurnOutcome::RanJob);
    }
    let prepared = bench.provider.prepared();
    let boards = prepared.iter().map(|options| options.config.settings.get());
    let boards: Vec<Option<&Board>> = boards.collect();
    assert_eq!(boards, [Some(&Board("left")), Some(&Board("right"))]);
}

#[tokio::test]
async fn each_job_has_an_executor_of_its_own() {
    // R-EXEC-21
    let bench = Bench::new();
    for id in 1..=3 {
        bench.hand_out(id);
    }
    bench.worker().run(&Cancellation::new()).await.unwrap();
    let created = bench.timeline.lines_of(&["provider.create"]);
    assert_eq!(
        created,
        [
            "provider.create(1)",
            "provider.create(2)",
            "provider.create(3)"
        ]
    );
    for number in 1..=3 {
        let prefix = format!("executor({number}).run");
        assert_eq!(
            bench.timeline.lines_of(&[&prefix]),
            [format!("{prefix}(step_script)")]
        );
    }
    bench.provider.assert_obeyed();
}
