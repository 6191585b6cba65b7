use crate::stacked_provider_example::{RentLayer, limit_inside, limit_outside};
use executor_core::prelude::*;
use std::sync::atomic::Ordering;

/// Asks for a second job while the first one runs, three times, and returns how many hosts it took.
async fn hosts(stack: fn(&RentLayer) -> Arc<dyn ExecutorProvider>) -> u32 {
    let rent = RentLayer::default();
    let provider = stack(&rent);
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
    rent.rented.load(Ordering::Relaxed)
}

#[tokio::test]
async fn a_limit_outside_spares_what_a_limit_inside_reserves_in_vain() {
    assert_eq!(hosts(limit_outside).await, 3);
    assert_eq!(hosts(limit_inside).await, 6);
}
