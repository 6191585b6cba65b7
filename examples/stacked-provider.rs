//! Layers around a provider, including a custom one, and why their order matters.
//!
//! The layer written here rents a host for each job, as an autoscaler would. The others come with Runwright:
//! a deadline and retries for preparations, and a limit of one job at a time. The layer added last sees each
//! request first, and should be the one that refuses most often. The layers below it then reserve nothing
//! for the requests that it refuses.
//!
//! ```text
//! cargo run --example stacked-provider
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use executor_core::prelude::*;
use executor_layers::{ConcurrencyLimitLayer, RetryLayer, TimeoutLayer};
use executor_shell::ShellConfig;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Rents a host for each job.
#[derive(Debug, Clone, Default)]
pub struct RentLayer {
    /// The number of hosts rented so far; clones share it.
    pub rented: Arc<AtomicU32>,
}

impl ProviderLayer for RentLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        let rented = Arc::clone(&self.rented);
        Arc::new(RentProvider { inner, rented })
    }
}

/// The wrapped provider.
#[derive(Debug)]
struct RentProvider {
    inner: Arc<dyn ExecutorProvider>,
    rented: Arc<AtomicU32>,
}

/// The data that this layer adds to a job; dropping it returns the host.
#[derive(Debug)]
struct Host {
    number: u32,
}

impl Drop for Host {
    fn drop(&mut self) {
        println!("  host {} goes back", self.number);
    }
}

// If the contract gains a method, this does not compile until the method is forwarded.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for RentProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.inner.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        self.inner.create(data)
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let number = self.rented.fetch_add(1, Ordering::Relaxed) + 1;
        println!("  host {number} is rented");
        let host = Host { number };
        // If the inner provider refuses, the host is dropped and thereby returned.
        let data = self.inner.acquire(config, cancellation).await?;
        Ok(data.with(host))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.inner.release(config, data).await;
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        self.inner.features(features)
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        self.inner.config_info(config, info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.inner.default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        self.inner.init()
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}

/// Checks the limit first: no host is rented for a job beyond it.
pub fn limit_outside(rent: &RentLayer) -> Arc<dyn ExecutorProvider> {
    patient_shell()
        .layer(rent)
        .layer(&ConcurrencyLimitLayer::concurrent(1))
        .build()
}

/// Rents a host first, and returns it when the limit refuses.
pub fn limit_inside(rent: &RentLayer) -> Arc<dyn ExecutorProvider> {
    patient_shell()
        .layer(&ConcurrencyLimitLayer::concurrent(1))
        .layer(rent)
        .build()
}

/// The shell executor, whose preparation is tried up to three times within a minute.
fn patient_shell() -> ProviderStack {
    ProviderStack::new(executor_shell::provider(ShellConfig::default()))
        .layer(&RetryLayer::new())
        .layer(&TimeoutLayer::new().with_prepare(Duration::from_mins(1)))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    println!("The limit is asked first, as it should be:");
    ask_twice(&*limit_outside(&RentLayer::default())).await?;
    println!("A host is rented first, and the second one in vain:");
    ask_twice(&*limit_inside(&RentLayer::default())).await
}

async fn ask_twice(provider: &dyn ExecutorProvider) -> anyhow::Result<()> {
    let config = RunnerConfig::new("example", "shell");
    let go_on = Cancellation::new();
    println!(" first job");
    let data = provider.acquire(&config, &go_on).await?;
    // The innermost provider creates the executor, and layers that act on jobs wrap it.
    let executor = provider.create(&data)?;
    println!("  runs in {}", executor.shell().dialect);
    println!(" second job, while the first one runs");
    if let Err(error) = provider.acquire(&config, &go_on).await {
        println!("  {error}");
    }
    println!(" end of the first job");
    drop(executor);
    provider.release(&config, data).await;
    Ok(())
}
