//! The provider built from closures.

use crate::independent::Independent;
use executor_core::prelude::*;
use executor_testkit::runner_config;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn config_info(provider: &dyn ExecutorProvider) -> ConfigInfo {
    let mut info = ConfigInfo::default();
    provider.config_info(&runner_config("closures"), &mut info);
    info
}

fn features(provider: &dyn ExecutorProvider) -> FeaturesInfo {
    let mut features = FeaturesInfo::default();
    provider.features(&mut features).unwrap();
    features
}

#[test]
fn it_has_a_creator_two_updaters_and_a_default_shell() {
    // R-EXEC-36
    let provider = DefaultExecutorProvider::new(ShellDialect::Pwsh)
        .with_creator(|_data| Ok(Box::new(Independent::new())))
        .with_features(|features| features.image = true)
        .with_config_info(|config, info| info.gpus.clone_from(&config.name));
    assert!(provider.can_create().is_ok());
    assert_eq!(features(&provider).names(), ["image"]);
    assert_eq!(config_info(&provider).gpus, "testkit");
    assert_eq!(provider.default_shell(), Some(ShellDialect::Pwsh));
}

#[test]
fn without_a_creator_it_can_create_nothing_and_says_so() {
    // R-EXEC-37
    // R-EXEC-10
    let provider = DefaultExecutorProvider::new(ShellDialect::Sh);
    let missing = provider.can_create().unwrap_err();
    assert!(missing.message.contains("creator"), "{missing}");
    let error = provider.create(&ExecutorData::new()).unwrap_err();
    assert!(!error.is_temporary());
    let provider = provider.with_creator(|_data| Ok(Box::new(Independent::new())));
    assert!(provider.can_create().is_ok());
}

#[test]
fn create_delegates_to_the_creator_and_gives_it_the_data() {
    // R-EXEC-38
    // R-EXEC-37
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let provider = DefaultExecutorProvider::new(ShellDialect::Sh).with_creator(move |data| {
        counted.fetch_add(1, Ordering::Relaxed);
        match data.get::<&str>() {
            Some(&"fits") => Ok(Box::new(Independent::new())),
            _ => Err(BuildError::config("the data does not fit")),
        }
    });
    let first = provider.create(&ExecutorData::new().with("fits")).unwrap();
    let second = provider.create(&ExecutorData::new().with("fits")).unwrap();
    first.set_current_stage(ExecutorStage::new("first"));
    assert_eq!(
        second.current_stage(),
        ExecutorStage::CREATED,
        "they are two"
    );
    let error = provider.create(&ExecutorData::new()).unwrap_err();
    assert_eq!(error.to_string(), "the data does not fit");
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[test]
fn the_features_updater_reports_and_may_be_left_out() {
    // R-EXEC-39
    let without = DefaultExecutorProvider::new(ShellDialect::Sh);
    assert_eq!(features(&without), FeaturesInfo::default());
    let with = DefaultExecutorProvider::new(ShellDialect::Sh).with_features(|features| {
        features.variables = true;
        features.terminal = true;
    });
    assert_eq!(features(&with).names(), ["variables", "terminal"]);
    // What was there before stays.
    let mut earlier = FeaturesInfo {
        shared: true,
        ..FeaturesInfo::default()
    };
    with.features(&mut earlier).unwrap();
    assert_eq!(earlier.names(), ["variables", "shared", "terminal"]);
}

#[test]
fn the_config_updater_may_be_left_out() {
    // R-EXEC-40
    let without = DefaultExecutorProvider::new(ShellDialect::Sh);
    assert_eq!(config_info(&without), ConfigInfo::default());
    let with = DefaultExecutorProvider::new(ShellDialect::Sh)
        .with_config_info(|_config, info| "all".clone_into(&mut info.gpus));
    assert_eq!(config_info(&with).gpus, "all");
}

#[test]
fn a_provider_without_a_default_shell_is_refused() {
    // R-EXEC-41
    let provider =
        DefaultExecutorProvider::default().with_creator(|_data| Ok(Box::new(Independent::new())));
    assert_eq!(provider.default_shell(), None);
    let mut registry = executor_core::ProviderRegistry::new();
    let refused = registry
        .register("closures", Arc::new(provider))
        .unwrap_err();
    assert!(
        refused.to_string().contains("no default shell"),
        "{refused}"
    );
}

#[tokio::test]
async fn acquire_and_release_reserve_nothing() {
    // R-EXEC-42
    let provider = DefaultExecutorProvider::new(ShellDialect::Sh);
    let config = runner_config("closures");
    let mut leases = Vec::new();
    for _ in 0..1000 {
        leases.push(
            provider
                .acquire(&config, &Cancellation::new())
                .await
                .unwrap(),
        );
    }
    assert!(leases.iter().all(ExecutorData::is_empty));
    provider.release(&config, ExecutorData::new()).await;
    provider.init().unwrap();
    provider.shutdown(Duration::ZERO).await.unwrap();
}
