//! The whole conformance suite through layers, three deep.

use executor_core::prelude::*;
use executor_layers::{
    ConcurrencyLimitLayer, Metrics, MetricsLayer, MetricsOptions, RetryLayer, TimeoutLayer,
    TracingLayer,
};
use executor_shell::ShellConfig;
use executor_testkit::{
    Report, ScriptedProvider, SuiteOptions, Verdict, conformance, runner_config,
};
use std::time::Duration;

/// Held during a suite on a real shell: it measures this process, and uses the machine.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const LONG: Duration = Duration::from_mins(10);

/// A layer with settings that change nothing about jobs which behave.
fn layer(name: &str) -> Box<dyn ProviderLayer> {
    match name {
        "concurrency limit" => Box::new(ConcurrencyLimitLayer::concurrent(100)),
        "metrics" => {
            let metrics = Metrics::new(MetricsOptions::default());
            Box::new(MetricsLayer::new(&metrics.unwrap()))
        }
        "retry" => Box::new(RetryLayer::new()),
        "timeout" => Box::new(
            TimeoutLayer::new()
                .with_acquire(LONG)
                .with_prepare(LONG)
                .with_run(LONG)
                .with_cleanup(LONG)
                .with_shutdown(LONG),
        ),
        "tracing" => Box::new(TracingLayer::new()),
        _ => panic!("there is no layer {name:?}"),
    }
}

/// Returns a provider with these layers around it, the first one innermost.
fn stack(provider: Arc<dyn ExecutorProvider>, layers: [&str; 3]) -> Arc<dyn ExecutorProvider> {
    let bare = ProviderStack::from_arc(provider);
    let stacked = layers
        .iter()
        .fold(bare, |stack, name| stack.layer(&*layer(name)));
    stacked.build()
}

/// Runs the whole suite on the shell executor through layers.
async fn check(layers: [&str; 3]) {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name| Some(directory.path().join(name).to_str().unwrap().to_owned());
    let mut config = runner_config("shell");
    config.builds_dir = path("builds");
    config.cache_dir = path("cache");
    config.graceful_kill_timeout = Duration::from_secs(1);
    let shell = executor_shell::provider(ShellConfig {
        login: false,
        ..ShellConfig::default()
    });
    let options = SuiteOptions::new(config)
        .exit_codes([0, 1, 2, 127, 128, 255])
        .jobs(10);
    let report = conformance(stack(Arc::new(shell), layers), options).await;
    report.assert_passed();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrency_limits_around_the_shell() {
    check(["concurrency limit"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_around_the_shell() {
    check(["retry"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn timeouts_around_the_shell() {
    check(["timeout"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_around_the_shell() {
    check(["metrics"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_around_the_shell() {
    check(["tracing"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn different_layers_around_the_shell() {
    check(["concurrency limit", "retry", "timeout"]).await;
    check(["timeout", "retry", "concurrency limit"]).await;
}

/// Runs the whole suite on a scripted provider, which runs no script, so that many checks fail.
async fn scripted(layers: Option<[&str; 3]>) -> (Report, ScriptedProvider) {
    let scripted = ScriptedProvider::new();
    let provider = match layers {
        Some(layers) => stack(scripted.shared(), layers),
        None => scripted.shared(),
    };
    let mut config = runner_config("scripted");
    config.graceful_kill_timeout = Duration::from_secs(1);
    let options = SuiteOptions::new(config)
        .exit_codes([0, 1, 128])
        .jobs(10)
        .deadline(Duration::from_secs(3))
        .promptness(Duration::from_secs(1))
        .leftovers(Vec::new);
    (conformance(provider, options).await, scripted)
}

/// What the suite says of each check, without the numbers in it.
fn verdicts(report: &Report) -> Vec<(&'static str, Verdict)> {
    let checks = report.checks.iter();
    checks
        .map(|check| (check.name, check.verdict.clone()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn around_a_scripted_provider_every_check_says_what_it_says_without() {
    let (bare, _) = scripted(None).await;
    println!("{bare}");
    assert!(!bare.failed().contains(&"stop_during_prepare"), "{bare}");
    for layers in [
        ["concurrency limit"; 3],
        ["metrics"; 3],
        ["retry"; 3],
        ["timeout"; 3],
        ["tracing"; 3],
        ["timeout", "concurrency limit", "retry"],
        ["tracing", "retry", "metrics"],
        ["retry", "timeout", "concurrency limit"],
    ] {
        let (stacked, scripted) = scripted(Some(layers)).await;
        assert_eq!(verdicts(&stacked), verdicts(&bare), "{layers:?}");
        scripted.assert_obeyed();
    }
}
