//! Who gets capacity, and when it is free again.

use executor_core::prelude::*;
use executor_layers::ConcurrencyLimitLayer;
use executor_testkit::ScriptedProvider;

fn limited(layer: &ConcurrencyLimitLayer) -> (ScriptedProvider, Arc<dyn ExecutorProvider>) {
    let scripted = ScriptedProvider::new();
    let provider = layer.layer(scripted.shared());
    (scripted, provider)
}

fn is_full(acquired: &Result<ExecutorData, AcquireError>) -> bool {
    matches!(acquired, Err(AcquireError::NoFreeExecutor))
}

#[tokio::test]
async fn a_full_limit_refuses_before_the_inner_provider_is_asked() {
    let (scripted, provider) = limited(&ConcurrencyLimitLayer::concurrent(2));
    let (config, go_on) = (RunnerConfig::new("a", "scripted"), Cancellation::new());
    let first = provider.acquire(&config, &go_on).await.unwrap();
    let other = RunnerConfig::new("b", "scripted");
    let second = provider.acquire(&other, &go_on).await.unwrap();
    assert!(is_full(&provider.acquire(&config, &go_on).await));
    assert_eq!(scripted.counts().acquire, 2);

    provider.release(&config, first).await;
    let third = provider.acquire(&config, &go_on).await.unwrap();
    provider.release(&config, third).await;
    provider.release(&other, second).await;
    scripted.assert_obeyed();
}

#[tokio::test]
async fn each_runner_has_the_limit_of_its_settings() {
    let (_scripted, provider) = limited(&ConcurrencyLimitLayer::of_each_runner());
    let go_on = Cancellation::new();
    let (mut one, mut two) = (
        RunnerConfig::new("one", "scripted"),
        RunnerConfig::new("two", "scripted"),
    );
    (one.limit, two.limit) = (1, 2);
    let _first = provider.acquire(&one, &go_on).await.unwrap();
    assert!(is_full(&provider.acquire(&one, &go_on).await));
    let _second = provider.acquire(&two, &go_on).await.unwrap();
    let _third = provider.acquire(&two, &go_on).await.unwrap();
    assert!(is_full(&provider.acquire(&two, &go_on).await));

    // The runner's settings were read again.
    one.limit = 2;
    let _fourth = provider.acquire(&one, &go_on).await.unwrap();
    // Zero is no limit, as in GitLab Runner's settings.
    two.limit = 0;
    let _fifth = provider.acquire(&two, &go_on).await.unwrap();
}
