//! The provider of the executor for other hosts.

use crate::config::SshOptions;
use crate::executor::SshExecutor;
use crate::hosts::{Hosts, Place};
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, DefaultExecutorProvider, Executor,
    ExecutorData, ExecutorProvider, FeaturesInfo, ProviderError, RunnerConfig, ShellDialect,
};
use std::sync::Arc;
use std::time::Duration;

/// Returns the provider.
///
/// Nothing is connected before the first job. [`acquire`](ExecutorProvider::acquire) takes a place on the least busy host and
/// fails with [`AcquireError::NoFreeExecutor`] when all are full.
pub fn provider(options: SshOptions) -> SshProvider {
    let options = Arc::new(options);
    let hosts = Arc::new(Hosts::new(Arc::clone(&options)));
    let of_jobs = Arc::clone(&hosts);
    let create = move |data: &ExecutorData| -> Result<Box<dyn Executor>, BuildError> {
        let (hosts, options) = (Arc::clone(&of_jobs), Arc::clone(&options));
        Ok(Box::new(SshExecutor::new(hosts, options, data)))
    };
    let base = DefaultExecutorProvider::new(ShellDialect::Bash)
        .with_creator(create)
        .with_features(add_features);
    SshProvider { base, hosts }
}

/// Creates executors for other hosts; see [`provider`].
#[derive(Debug)]
pub struct SshProvider {
    base: DefaultExecutorProvider,
    hosts: Arc<Hosts>,
}

#[async_trait]
impl ExecutorProvider for SshProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.base.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        self.base.create(data)
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let data = self.base.acquire(config, cancellation).await?;
        if let Some(place) = self.hosts.take() {
            return Ok(data.with(place));
        }
        self.base.release(config, data).await;
        Err(AcquireError::NoFreeExecutor)
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        if let Some(place) = data.get::<Place>() {
            self.hosts.give_back(place);
        }
        self.base.release(config, data).await;
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        self.base.features(features)
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        self.base.config_info(config, info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.base.default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        self.base.init()
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.base.shutdown(deadline).await
    }
}

fn add_features(features: &mut FeaturesInfo) {
    features.variables = true;
    features.shared = true;
    features.session = true;
    features.terminal = true;
}
