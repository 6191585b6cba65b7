//! The layer around a provider.

use crate::driver::MachineDriver;
use crate::executor::MachineExecutor;
use crate::options::PoolOptions;
use crate::pool::{Acquired, Pool, Records};
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
use tokio::time::{Instant, timeout};

/// How long the end of the pool may take before the log says what it waits for.
const SILENT: Duration = Duration::from_secs(10);

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
    /// Owns the machines, until `init` starts it.
    owner: Arc<Mutex<Option<OwnerFuture>>>,
    /// The task of the owner.
    tasks: Arc<Mutex<JoinSet<()>>>,
}

type OwnerFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

impl MachineLayer {
    /// Returns a layer with a pool of its own, which writes nothing down.
    pub fn new(options: PoolOptions, driver: Arc<dyn MachineDriver>) -> Self {
        Self::with_records(options, driver, Records::default())
    }

    /// Returns a layer with a pool of its own, which has a journal or metrics.
    pub fn with_records(
        options: PoolOptions,
        driver: Arc<dyn MachineDriver>,
        records: Records,
    ) -> Self {
        let (pool, owner) = Pool::new(options, driver, records);
        Self {
            pool,
            owner: Arc::new(Mutex::new(Some(Box::pin(owner)))),
            tasks: Arc::default(),
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
        })
    }
}

/// A provider wrapped in a [`MachineLayer`].
#[derive(Debug)]
pub struct MachineProvider {
    inner: Arc<dyn ExecutorProvider>,
    layer: MachineLayer,
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
        if self.layer.owner.lock().is_some() {
            let error = "the pool of machines is not started: call `init` first";
            return Err(AcquireError::Provider(error.into()));
        }
        let pool = self.layer.pool.clone();
        let ticket = match pool.acquire().await {
            Acquired::Reserved(lease) => Ticket::reserved(pool, lease),
            Acquired::OnDemand(promise) => Ticket::on_demand(pool, promise),
            Acquired::Full => return Err(AcquireError::NoFreeExecutor),
            Acquired::Unlisted(error) => return Err(AcquireError::Provider(error.into())),
        };
        let data = self.inner.acquire(config, cancellation).await?;
        Ok(data.with(Arc::new(ticket)))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let ticket = data.get::<Arc<Ticket>>().cloned();
        self.inner.release(config, data).await;
        if let Some(ticket) = ticket {
            ticket.release();
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
        self.layer.tasks.lock().spawn_on(owner, &runtime);
        Ok(())
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        let begun = Instant::now();
        let inner = self.inner.shutdown(deadline).await;
        if self.layer.owner.lock().take().is_some() {
            // The pool was never started.
            return inner;
        }
        let left = || deadline.saturating_sub(begun.elapsed());
        let pool = &self.layer.pool;
        let mut ending = std::pin::pin!(pool.shutdown(left()));
        let machines = if let Ok(machines) = timeout(SILENT, &mut ending).await {
            machines
        } else {
            for it in pool.status().await {
                let state = it.state;
                tracing::warn!(machine = it.name, %state, "The end waits for a machine. A second Ctrl-C ends the wait.");
            }
            ending.await
        };
        if machines.is_empty() {
            // The owner has nothing left to do.
            let mut tasks = std::mem::take(&mut *self.layer.tasks.lock());
            if let Ok(Some(Err(error))) = timeout(left(), tasks.join_next()).await {
                let message = "the pool of machines has failed".to_owned();
                let source = Some(error.into());
                return Err(ProviderError { message, source });
            }
        }
        inner?;
        let names: Vec<_> = machines.into_iter().map(|machine| machine.name).collect();
        if names.is_empty() {
            return Ok(());
        }
        Err(ProviderError::new(format!(
            "these machines are still being created or removed; the next start takes them over: {}",
            names.join(", ")
        )))
    }
}
