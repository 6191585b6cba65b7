use crate::stacked_provider_example::{runner_and_host, stack};
use executor_core::prelude::*;

#[tokio::test]
async fn the_tighter_limit_decides_in_either_order() {
    let (runner, host) = runner_and_host();
    let right = stack([host, runner]);
    let (runner, host) = runner_and_host();
    let wrong = stack([runner, host]);
    for provider in [right, wrong] {
        let config = RunnerConfig::new("test", "shell");
        let go_on = Cancellation::new();
        // More often than there is room, so that what was reserved in vain would be missed.
        for _ in 0..3 {
            let data = provider.acquire(&config, &go_on).await.unwrap();
            assert!(provider.create(&data).is_ok());
            let second = provider.acquire(&config, &go_on).await;
            assert!(
                matches!(second, Err(AcquireError::NoFreeExecutor)),
                "{second:?}"
            );
            provider.release(&config, data).await;
        }
    }
}
