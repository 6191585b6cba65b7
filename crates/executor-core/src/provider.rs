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

/// Makes executors of one kind and owns what they share: pools, connections, limits.
///
/// One provider serves the whole process and is called from many tasks at once.
///
/// 1. At registration: [`can_create`](Self::can_create), [`features`](Self::features) and
///    [`default_shell`](Self::default_shell) are checked, once.
/// 2. [`init`](Self::init), once, before the first job.
/// 3. For each turn of a worker: [`acquire`](Self::acquire) **before** a job is asked for; then
///    `features`, [`config_info`](Self::config_info) and `default_shell` for the request; when a job
///    came, [`create`](Self::create) for each attempt; at the end [`release`](Self::release), always,
///    also when no job came and after errors and panics.
/// 4. [`shutdown`](Self::shutdown), once, after the last release.
///
/// **Stacking.** A provider may wrap another: it forwards what it does not change, in this order of
/// methods, under `#[deny(clippy::missing_trait_methods)]`, and adds to the [`ExecutorData`] of the
/// inner one instead of replacing it. See [`ProviderLayer`](crate::ProviderLayer).
///
/// No method has a default body. [`DefaultExecutorProvider`](crate::DefaultExecutorProvider) is built
/// from closures and fits every executor that shares nothing.
#[async_trait]
pub trait ExecutorProvider: Send + Sync + Debug {
    /// Checks that the provider has what it needs to create executors. Starts nothing.
    ///
    /// # Errors
    ///
    /// Says what is missing.
    fn can_create(&self) -> Result<(), ProviderError>;

    /// Creates an executor for one attempt of a job. Allocates nothing outside this process.
    ///
    /// `data` is what `acquire` returned for the job. What else depends on the runner's
    /// [`settings`](RunnerConfig::settings) has time until `prepare`, which gets the `RunnerConfig`.
    ///
    /// # Errors
    ///
    /// When `data` or the provider's settings do not fit.
    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError>;

    /// Reserves capacity for one job, before the job is asked for.
    ///
    /// # Errors
    ///
    /// [`AcquireError::NoFreeExecutor`] when there is none now: no job is asked for, and the worker
    /// comes again later.
    ///
    /// # Cancellation
    ///
    /// A provider that waits returns [`AcquireError::Canceled`] soon and keeps nothing reserved. One
    /// that returns it unasked is taken to have no capacity for now.
    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError>;

    /// Gives back what `acquire` reserved. Never fails; what goes wrong is the provider's to mend.
    async fn release(&self, config: &RunnerConfig, data: ExecutorData);

    /// Adds the abilities of the provider's executors to `features`.
    ///
    /// # Errors
    ///
    /// When they cannot be told; a provider that fails at registration is refused.
    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError>;

    /// Adds details of the configuration to `info`.
    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo);

    /// Returns the shell jobs get when nobody chose one; `None` is refused at registration.
    fn default_shell(&self) -> Option<ShellDialect>;

    /// Starts the provider's background work. Never blocks.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    fn init(&self) -> Result<(), ProviderError>;

    /// Ends the provider's background work and gives up what it holds, within `deadline`.
    ///
    /// # Errors
    ///
    /// When something is left at the deadline.
    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError>;
}
