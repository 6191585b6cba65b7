//! The layer around a provider.

use crate::driver::MachineDriver;
use crate::executor::MachineExecutor;
use crate::options::PoolOptions;
use crate::pool::{Acquired, Pool};
use crate::ticket::Ticket;
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, ProviderError, ProviderLayer, RunnerConfig, ShellDialect,
};
use parking_lot::Mutex;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Gives each job of a provider a machine from a pool.
///
/// # What it changes
///
/// - `init` starts the pool, in the runtime of its caller. `shutdown` ends it, after the inner provider.
/// - `acquire` reserves a slot of a machine before the inner provider is asked. Without a free one it reports no capacity. When
///   machines come on demand, it reserves nothing and reports no capacity only when no machine could be added.
/// - `create` returns a [`MachineExecutor`], which puts the machine's [`Endpoint`](executor_core::Endpoint) into the data of
///   the inner provider.
/// - `release` gives the slot back, after the inner provider.
/// - All else is forwarded.
///
/// Clones, and all providers that it wraps, share one pool.
#[derive(Clone)]
pub struct MachineLayer {
    pool: Pool,
    acquire_timeout: Duration,
    /// Owns the machines, until `init` starts it.
    owner: Arc<Mutex<Option<OwnerFuture>>>,
}

type OwnerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl MachineLayer {
    /// Returns a layer with a pool of its own.
    pub fn new(options: PoolOptions, driver: Arc<dyn MachineDriver>) -> Self {
        let acquire_timeout = options.acquire_timeout;
        let (pool, owner) = Pool::new(options, driver);
        Self {
            pool,
            acquire_timeout,
            owner: Arc::new(Mutex::new(Some(Box::pin(owner)))),
        }
    }

    /// Returns the pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }
}

impl fmt::Debug for MachineLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MachineLayer").finish_non_exhaustive()
    }
}

impl ProviderLayer for MachineLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(MachineProvider {
            inner,
            layer: self.clone(),
            tasks: Mutex::default(),
        })
    }
}

/// A provider wrapped in a [`MachineLayer`].
#[derive(Debug)]
pub struct MachineProvider {
    inner: Arc<dyn ExecutorProvider>,
    layer: MachineLayer,
    /// The owner of the machines.
    tasks: Mutex<JoinSet<()>>,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for MachineProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.inner.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let ticket = data.get::<Arc<Ticket>>().cloned().ok_or_else(|| {
            BuildError::config("the job's data are not from this provider's `acquire`")
        })?;
        let executor = MachineExecutor::new(Arc::clone(&self.inner), ticket, data.clone())?;
        Ok(Box::new(executor))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let pool = self.layer.pool.clone();
        let ticket = match pool.acquire().await {
            Acquired::Reserved(lease) => Ticket::reserved(pool, lease),
            Acquired::OnDemand(promise) => Ticket::on_demand(pool, promise),
            Acquired::Full => return Err(AcquireError::NoFreeExecutor),
        };
        let ticket = ticket.with_limit(self.layer.acquire_timeout);
        let data = self.inner.acquire(config, cancellation).await?;
        Ok(data.with(Arc::new(ticket)))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let ticket = data.get::<Arc<Ticket>>().cloned();
        self.inner.release(config, data).await;
        if let Some(ticket) = ticket {
            ticket.give_back();
        }
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
        self.inner.init()?;
        let Some(owner) = self.layer.owner.lock().take() else {
            return Ok(());
        };
        let runtime = Handle::try_current().map_err(|error| ProviderError {
            message: "start the pool of machines".to_owned(),
            source: Some(error.into()),
        })?;
        self.tasks.lock().spawn_on(owner, &runtime);
        Ok(())
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        let begun = Instant::now();
        let inner = self.inner.shutdown(deadline).await;
        let left = deadline.saturating_sub(begun.elapsed());
        let machines = self.layer.pool.shutdown(left).await;
        inner?;
        let names: Vec<_> = machines.into_iter().map(|machine| machine.name).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(ProviderError::new(format!(
            "these machines are not removed yet; the next start takes them over: {}",
            names.join(", ")
        )))
    }
}
