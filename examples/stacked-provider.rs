//! Layers around a provider, and why their order matters.
//!
//! One kind of layer, used twice around the shell executor: the runner takes one job at a time, the
//! host has room for two. The layer added last is asked first, and should be the one that refuses
//! most often: what it refuses, nobody below has to reserve and give back.
//!
//! ```text
//! cargo run --example stacked-provider
//! ```
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use executor_core::prelude::*;
use executor_shell::ShellConfig;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets only so many jobs through at once.
#[derive(Debug)]
pub struct LimitLayer {
    name: &'static str,
    limit: usize,
}

impl ProviderLayer for LimitLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        let room = Arc::new(Semaphore::new(self.limit));
        Arc::new(LimitProvider {
            name: self.name,
            inner,
            room,
        })
    }
}

/// The wrapped provider.
#[derive(Debug)]
struct LimitProvider {
    name: &'static str,
    inner: Arc<dyn ExecutorProvider>,
    room: Arc<Semaphore>,
}

/// What this layer adds to the data of a job; the room is free again when it is dropped.
#[derive(Debug)]
struct Room {
    name: &'static str,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Room {
    fn drop(&mut self) {
        println!("  {}: gives its room back", self.name);
    }
}

// A method that the contract gets later is not forgotten here: it does not compile without it.
#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for LimitProvider {
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
        let Ok(permit) = Arc::clone(&self.room).try_acquire_owned() else {
            println!("  {}: has no room", self.name);
            return Err(AcquireError::NoFreeExecutor);
        };
        println!("  {}: has room", self.name);
        let room = Room {
            name: self.name,
            _permit: permit,
        };
        // If the inner provider refuses, the room is dropped and free again.
        let data = self.inner.acquire(config, cancellation).await?;
        Ok(data.with(room))
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

    fn default_shell(&self) -> Option<Dialect> {
        self.inner.default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        self.inner.init()
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}

/// Returns the shell provider with both layers around it, the first one innermost.
pub fn stack(layers: [LimitLayer; 2]) -> Arc<dyn ExecutorProvider> {
    let [inner, outer] = layers;
    let shell = executor_shell::provider(ShellConfig::default());
    ProviderStack::new(shell)
        .layer(&inner)
        .layer(&outer)
        .build()
}

/// The limit of the runner, and that of the host.
pub fn runner_and_host() -> (LimitLayer, LimitLayer) {
    (
        LimitLayer {
            name: "runner",
            limit: 1,
        },
        LimitLayer {
            name: "host",
            limit: 2,
        },
    )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    println!("The runner is asked first, as it should be:");
    let (runner, host) = runner_and_host();
    ask_twice(&*stack([host, runner])).await?;

    println!("The host is asked first, and reserves in vain:");
    let (runner, host) = runner_and_host();
    ask_twice(&*stack([runner, host])).await
}

async fn ask_twice(provider: &dyn ExecutorProvider) -> anyhow::Result<()> {
    let config = RunnerConfig::new("example", "shell");
    let go_on = Cancellation::new();
    println!(" first job");
    let data = provider.acquire(&config, &go_on).await?;
    // The executor is the innermost provider's; the layers only counted.
    let executor = provider.create(&data)?;
    println!("  runs in {}", executor.shell().dialect);
    println!(" second job, while the first one runs");
    if let Err(error) = provider.acquire(&config, &go_on).await {
        println!("  {error}");
    }
    println!(" end of the first job");
    provider.release(&config, data).await;
    Ok(())
}
