//! A provider built from closures.

use crate::cancellation::Cancellation;
use crate::config::RunnerConfig;
use crate::error::{AcquireError, BuildError, ProviderError};
use crate::executor::Executor;
use crate::executor_data::ExecutorData;
use crate::features::{ConfigInfo, FeaturesInfo};
use crate::provider::ExecutorProvider;
use crate::shell::ShellDialect;
use async_trait::async_trait;
use std::fmt;
use std::time::Duration;

type Creator =
    Box<dyn Fn(&ExecutorData) -> Result<Box<dyn Executor>, BuildError> + Send + Sync + 'static>;
type FeaturesUpdater = Box<dyn Fn(&mut FeaturesInfo) + Send + Sync + 'static>;
type ConfigUpdater = Box<dyn Fn(&RunnerConfig, &mut ConfigInfo) + Send + Sync + 'static>;

/// The provider of every executor that shares nothing between jobs.
///
/// `acquire` and `release` do nothing: it has no limit and nothing to reserve. Add a layer for a
/// limit.
///
/// # Examples
///
/// ```
/// use executor_core::prelude::*;
///
/// let provider = DefaultExecutorProvider::new(ShellDialect::Bash)
///     .with_features(|features| features.variables = true);
/// // Without a creator, the provider reports that it cannot create executors.
/// assert!(provider.can_create().is_err());
/// ```
#[derive(Default)]
pub struct DefaultExecutorProvider {
    creator: Option<Creator>,
    features_updater: Option<FeaturesUpdater>,
    config_updater: Option<ConfigUpdater>,
    default_shell: Option<ShellDialect>,
}

impl DefaultExecutorProvider {
    /// Returns a provider with this default shell.
    pub fn new(default_shell: ShellDialect) -> Self {
        Self {
            default_shell: Some(default_shell),
            ..Self::default()
        }
    }

    /// Sets the function that creates an executor. It is required.
    pub fn with_creator(
        mut self,
        creator: impl Fn(&ExecutorData) -> Result<Box<dyn Executor>, BuildError> + Send + Sync + 'static,
    ) -> Self {
        self.creator = Some(Box::new(creator));
        self
    }

    /// Sets the function that adds the executor's features; default no features.
    pub fn with_features(
        mut self,
        updater: impl Fn(&mut FeaturesInfo) + Send + Sync + 'static,
    ) -> Self {
        self.features_updater = Some(Box::new(updater));
        self
    }

    /// Sets the function that adds details of the configuration; default no details.
    pub fn with_config_info(
        mut self,
        updater: impl Fn(&RunnerConfig, &mut ConfigInfo) + Send + Sync + 'static,
    ) -> Self {
        self.config_updater = Some(Box::new(updater));
        self
    }
}

#[async_trait]
impl ExecutorProvider for DefaultExecutorProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        match self.creator {
            Some(_) => Ok(()),
            None => Err(ProviderError::new("the provider has no creator")),
        }
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        match &self.creator {
            Some(creator) => creator(data),
            None => Err(BuildError::config("the provider has no creator")),
        }
    }

    async fn acquire(
        &self,
        _config: &RunnerConfig,
        _cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        Ok(ExecutorData::new())
    }

    async fn release(&self, _config: &RunnerConfig, _data: ExecutorData) {}

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        if let Some(updater) = &self.features_updater {
            updater(features);
        }
        Ok(())
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        if let Some(updater) = &self.config_updater {
            updater(config, info);
        }
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.default_shell
    }

    fn init(&self) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn shutdown(&self, _deadline: Duration) -> Result<(), ProviderError> {
        Ok(())
    }
}

impl fmt::Debug for DefaultExecutorProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultExecutorProvider")
            .field("creator", &self.creator.is_some())
            .field("features_updater", &self.features_updater.is_some())
            .field("config_updater", &self.config_updater.is_some())
            .field("default_shell", &self.default_shell)
            .finish()
    }
}
