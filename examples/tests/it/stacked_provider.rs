use crate::stacked_provider_example::{RentLayer, limit_inside, limit_outside};
use executor_core::prelude::*;
use std::sync::atomic::Ordering;

/// Requests a second job three times while the first one runs, and returns the number of rented hosts.
async fn hosts(stack: fn(&RentLayer) -> Arc<dyn ExecutorProvider>) -> u32 {
    let rent = RentLayer::default();
    let provider = stack(&rent);
    let config = RunnerConfig::new("test", "shell");
    let go_on = Cancellation::new();
    // Several requests, so that a leaked reservation would be noticed.
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
    rent.rented.load(Ordering::Relaxed)
}

#[tokio::test]
async fn outer_limit_avoids_reservations_of_an_inner_limit() {
    assert_eq!(hosts(limit_outside).await, 3);
    assert_eq!(hosts(limit_inside).await, 6);
}
