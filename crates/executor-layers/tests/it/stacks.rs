//! The whole conformance suite through layers, three deep.

use executor_core::prelude::*;
use executor_layers::{
    ConcurrencyLimitLayer, FallbackLayer, Metrics, MetricsLayer, MetricsOptions, RetryLayer,
    RouteByTagsLayer, TimeoutLayer, TracingLayer,
};
use executor_shell::ShellConfig;
use executor_testkit::{
    Report, ScriptedProvider, SuiteOptions, Verdict, conformance, runner_config,
};
use std::time::Duration;

const LONG: Duration = Duration::from_mins(10);

/// A layer with settings that change nothing about jobs which behave; `spare` is never needed.
fn layer(name: &str, spare: &Arc<dyn ExecutorProvider>) -> Box<dyn ProviderLayer> {
    let spare = Arc::clone(spare);
    match name {
        "concurrency limit" => Box::new(ConcurrencyLimitLayer::concurrent(100)),
        "fallback" => Box::new(FallbackLayer::to(spare).also_after_failed_prepare()),
        "metrics" => {
            let metrics = Metrics::new(MetricsOptions::default());
            Box::new(MetricsLayer::new(&metrics.unwrap()))
        }
        "retry" => Box::new(RetryLayer::new()),
        "route" => Box::new(RouteByTagsLayer::new().with_route(["elsewhere"], spare)),
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
pub(crate) fn stack(
    provider: Arc<dyn ExecutorProvider>,
    layers: [&str; 3],
) -> Arc<dyn ExecutorProvider> {
    let spare = Arc::clone(&provider);
    let bare = ProviderStack::from_arc(provider);
    let stacked = layers
        .iter()
        .fold(bare, |stack, name| stack.layer(&*layer(name, &spare)));
    stacked.build()
}

/// Runs the whole suite on the shell executor through layers.
async fn check(layers: [&str; 3]) {
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
        .line_bytes(1_000_000)
        // Other tests of this process grow meanwhile.
        .memory_growth(80_000_000)
        .jobs(10);
    let report = conformance(stack(Arc::new(shell), layers), options).await;
    report.assert_passed();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrency_limits_around_the_shell() {
    check(["concurrency limit"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fallbacks_around_the_shell() {
    check(["fallback"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_around_the_shell() {
    check(["retry"; 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_around_the_shell() {
    check(["route"; 3]).await;
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
async fn a_limited_patient_stack_around_the_shell() {
    check(["retry", "timeout", "concurrency limit"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_fallback_around_the_shell() {
    check(["fallback", "tracing", "metrics"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_to_fallbacks_around_the_shell() {
    // R-EXEC-20
    check(["fallback", "route", "timeout"]).await;
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
        ["fallback"; 3],
        ["metrics"; 3],
        ["retry"; 3],
        ["route"; 3],
        ["timeout"; 3],
        ["tracing"; 3],
        ["timeout", "concurrency limit", "retry"],
        ["tracing", "retry", "metrics"],
        ["retry", "timeout", "route"],
        ["retry", "fallback", "timeout"],
        ["concurrency limit", "route", "fallback"],
    ] {
        let (stacked, scripted) = scripted(Some(layers)).await;
        assert_eq!(verdicts(&stacked), verdicts(&bare), "{layers:?}");
        scripted.assert_obeyed();
    }
}
