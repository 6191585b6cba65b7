//! The provider: the driver process and its capacity.

use crate::call::{Answer, Call, Late, Limits};
use crate::config::DriverConfig;
use crate::connection::{Connection, mention};
use crate::driver::Driver;
use crate::error::DriverError;
use crate::executor::DriverExecutor;
use crate::held::{Held, HeldKind};
use crate::message::{Acquire, Capability, Description, Empty, Lease, Status};
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, ProviderError, RunnerConfig, ShellDialect,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The executor's name in a registry.
pub const NAME: &str = "driver";

/// Creates executors whose jobs run through one driver.
#[derive(Debug)]
pub struct DriverProvider {
    driver: Arc<Driver>,
}

/// Returns the provider. Nothing is started before the first `acquire`.
pub fn provider(config: DriverConfig) -> DriverProvider {
    DriverProvider {
        driver: Arc::new(Driver::new(config)),
    }
}

impl DriverProvider {
    /// Returns what the driver said about itself when it was last started, also if it has ended since.
    ///
    /// `None` before the first `acquire` and after `shutdown`.
    pub fn description(&self) -> Option<Description> {
        self.driver.description()
    }

    /// Returns what the driver still holds: environments and leases. Empty when no driver runs.
    ///
    /// # Errors
    ///
    /// When the driver does not answer.
    pub async fn held(&self) -> Result<Vec<String>, ProviderError> {
        let Some(connection) = self.driver.if_running() else {
            return Ok(Vec::new());
        };
        let limit = self.driver.config.call_timeout;
        let mut call = connection.call("status", Empty {}).await?;
        let status: Status = call.result(limit).await?;
        let environments = status.environments.into_iter();
        let environments = environments.map(|it| format!("environment {it}"));
        let leases = status.leases.into_iter().map(|it| format!("lease {it}"));
        Ok(environments.chain(leases).collect())
    }

    async fn reserve(
        &self,
        connection: &Arc<Connection>,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<Lease, AcquireError> {
        let runner = config.name.as_str();
        let call = connection.call("acquire", Acquire { runner }).await?;
        let limits = Limits {
            answer: self.driver.config.prepare_timeout,
            stop: self.driver.config.stop_timeout,
        };
        match call.result_or_stop(limits, cancellation).await? {
            Answer::Result(lease) => Ok(lease),
            Answer::GivenUp { late, error } => {
                let limit = self.driver.config.cleanup_timeout;
                match late {
                    Late::Result(lease) => release(connection, &lease, limit).await,
                    Late::Open(call) => {
                        let connection = Arc::clone(connection);
                        self.driver.spawn(release_late(call, connection, limit));
                    }
                    Late::None => {}
                }
                Err(match (error, cancellation.cause()) {
                    (Some(error), _) => error.into(),
                    (None, Some(cause)) => cause.into(),
                    (None, None) => AcquireError::NoFreeExecutor,
                })
            }
        }
    }
}

/// Releases a lease in the driver process that knows it.
///
/// When a release was not answered, the others of the process are sent without waiting for their answers.
async fn release(connection: &Arc<Connection>, lease: &Lease, limit: Duration) {
    let hangs = &connection.release_hangs;
    let released = async {
        let mut call = connection.call("release", lease).await?;
        if hangs.load(Ordering::Relaxed) {
            return Ok(Empty {});
        }
        call.result::<Empty>(limit).await
    };
    let released = mention(limit, "release its capacity", released).await;
    if let Err(error) = released {
        if matches!(error, DriverError::NoAnswer { .. }) {
            hangs.store(true, Ordering::Relaxed);
        }
        not_released(&lease.lease, &error);
    }
}

/// Waits for the lease of a call that did not give up in time, and releases it. Ends with the driver process.
async fn release_late(mut call: Call, connection: Arc<Connection>, limit: Duration) {
    if let Ok(lease) = call.result(Duration::MAX).await {
        release(&connection, &lease, limit).await;
    }
}

fn not_released(lease: &str, error: &DriverError) {
    tracing::warn!(lease, %error, "The driver did not release its capacity.");
}

#[async_trait::async_trait]
impl ExecutorProvider for DriverProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        // A program lists its executors also when no driver is configured; the first `acquire` reports that.
        Ok(())
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let lease = data.get::<Arc<Held>>().cloned();
        let executor = DriverExecutor::new(Arc::clone(&self.driver), lease);
        Ok(Box::new(executor))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        cancellation.check()?;
        let (connection, description) = tokio::select! {
            biased;
            connected = self.driver.connect() => connected?,
            cause = cancellation.canceled() => return Err(cause.into()),
        };
        if !description.has(Capability::Capacity) {
            return Ok(ExecutorData::new());
        }
        let Lease { lease } = self.reserve(&connection, config, cancellation).await?;
        let lease = Held::new(
            HeldKind::Lease,
            lease,
            Arc::clone(&self.driver),
            connection,
            &description,
        );
        Ok(ExecutorData::new().with(Arc::new(lease)))
    }

    async fn release(&self, _config: &RunnerConfig, data: ExecutorData) {
        let Some(held) = data.get::<Arc<Held>>() else {
            return;
        };
        match held.connection().await {
            Ok(connection) => {
                let lease = held.name.clone();
                let limit = self.driver.config.cleanup_timeout;
                release(&connection, &Lease { lease }, limit).await;
            }
            // It ended with its driver process.
            Err(DriverError::Gone(_)) => {}
            Err(error) => not_released(&held.name, &error),
        }
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        features.variables = true;
        features.shared = true;
        // The driver gets it, and does with it what it can.
        features.image = true;
        Ok(())
    }

    fn config_info(&self, _config: &RunnerConfig, _info: &mut ConfigInfo) {}

    fn default_shell(&self) -> Option<ShellDialect> {
        Some(ShellDialect::Sh)
    }

    fn init(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        Ok(self.driver.shutdown(deadline).await?)
    }
}
