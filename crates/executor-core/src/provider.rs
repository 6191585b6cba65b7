//! The contract of an executor provider.

use crate::cancellation::Cancellation;
use crate::config::RunnerConfig;
use crate::error::{AcquireError, BuildError, ProviderError};
use crate::executor::Executor;
use crate::executor_data::ExecutorData;
use crate::features::{ConfigInfo, FeaturesInfo};
use crate::shell::ShellDialect;
use async_trait::async_trait;
use std::fmt::Debug;
use std::time::Duration;

/// Creates executors of one kind and owns the resources they share: pools, connections, limits.
///
/// One provider serves the whole process and is called from many tasks at once.
///
/// 1. At registration, once: [`can_create`](Self::can_create), [`features`](Self::features) and
///    [`default_shell`](Self::default_shell).
/// 2. [`init`](Self::init), once, before the first job.
/// 3. In each turn of a worker: [`acquire`](Self::acquire) **before** it requests a job; then
///    `features`, [`config_info`](Self::config_info) and `default_shell` for the request; with a job,
///    [`create`](Self::create) for each attempt; at the end always [`release`](Self::release), also
///    without a job and after errors and panics.
/// 4. [`shutdown`](Self::shutdown), once, after the last release.
///
/// **Stacking.** A provider may wrap another. It forwards the methods it does not change, under
/// `#[deny(clippy::missing_trait_methods)]`, and adds to the [`ExecutorData`] of the inner provider
/// instead of replacing it. See [`ProviderLayer`](crate::ProviderLayer).
///
/// No method has a default body. [`DefaultExecutorProvider`](crate::DefaultExecutorProvider), built
/// from closures, suits every executor without shared resources.
#[async_trait]
pub trait ExecutorProvider: Send + Sync + Debug {
    /// Checks that the provider has what it needs to create executors. Starts nothing.
    ///
    /// # Errors
    ///
    /// When something is missing; the error names it.
    fn can_create(&self) -> Result<(), ProviderError>;

    /// Creates an executor for one attempt of a job. Allocates nothing outside this process.
    ///
    /// `data` comes from `acquire`. Work that depends on the runner's [`settings`](RunnerConfig::settings)
    /// can wait for `prepare`, which receives the `RunnerConfig`.
    ///
    /// # Errors
    ///
    /// When `data` or the provider's settings are invalid.
    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError>;

    /// Reserves capacity for one job, before the worker requests the job.
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoFreeExecutor`] without free capacity: the worker requests no job and retries
    /// later.
    ///
    /// # Cancellation
    ///
    /// A provider that waits returns [`AcquireError::Canceled`] soon and reserves nothing. Without a
    /// requested stop, the worker treats that error as a lack of capacity.
    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError>;

    /// Releases the capacity that `acquire` reserved. It never fails; the provider handles its own errors.
    async fn release(&self, config: &RunnerConfig, data: ExecutorData);

    /// Adds the features of the provider's executors to `features`.
    ///
    /// # Errors
    ///
    /// When they are unknown; a provider that fails at registration is refused.
    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError>;

    /// Adds details of the configuration to `info`.
    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo);

    /// Returns the shell of jobs whose runner sets none; `None` is refused at registration.
    fn default_shell(&self) -> Option<ShellDialect>;

    /// Starts the provider's background work. Never blocks.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    fn init(&self) -> Result<(), ProviderError>;

    /// Ends the provider's background work and releases its resources, within `deadline`.
    ///
    /// # Errors
    ///
    /// When resources remain at the deadline.
    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError>;
}
