//! The provider of the executor for containers.

use crate::config::DockerOptions;
use crate::executor::DockerExecutor;
use crate::job::shared::Shared;
use crate::warm::Pool;
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, DefaultExecutorProvider, Executor,
    ExecutorData, ExecutorProvider, FeaturesInfo, ProviderError, RunnerConfig, ShellDialect,
};
use std::sync::Arc;
use std::time::Duration;

/// Returns the provider. Its jobs share the connection to their engine and the warm containers.
///
/// Scripts are for bash, or for `sh` where the image has no bash. The first preparation connects to the engine. The
/// number of jobs is not limited; wrap the provider in a layer for that.
pub fn provider(options: DockerOptions) -> DockerProvider {
    let shared = Arc::new(Shared::new(options));
    let reporting = Arc::clone(&shared);
    let pool = Pool::default();
    let of_jobs = pool.clone();
    let create = move |data: &ExecutorData| -> Result<Box<dyn Executor>, BuildError> {
        let (shared, pool) = (Arc::clone(&shared), of_jobs.clone());
        Ok(Box::new(DockerExecutor::new(shared, pool, data)))
    };
    let base = DefaultExecutorProvider::new(ShellDialect::Bash)
        .with_creator(create)
        .with_features(add_features)
        .with_config_info(move |config, info| reporting.settings(config).report(info));
    DockerProvider { base, pool }
}

/// Creates executors for containers; see [`provider`].
///
/// With [`warm`](crate::config::DockerConfig::warm) it keeps containers ready, and removes those of ended jobs in the
/// background. [`shutdown`](ExecutorProvider::shutdown) removes all of them; without it, the next start does.
#[derive(Debug)]
pub struct DockerProvider {
    base: DefaultExecutorProvider,
    pool: Pool,
}

impl DockerProvider {
    /// Returns the number of warm containers without a job.
    pub fn warm(&self) -> usize {
        self.pool.ready()
    }

    /// Waits until no warm container is being created and no container of an ended job is left.
    pub async fn settled(&self) {
        self.pool.settled().await;
    }
}

#[async_trait]
impl ExecutorProvider for DockerProvider {
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
        self.base.acquire(config, cancellation).await
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
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
        if self.pool.close(deadline).await {
            return Ok(());
        }
        Err(ProviderError::new(
            "some warm or ended containers are not removed yet; the next start removes them",
        ))
    }
}

fn add_features(features: &mut FeaturesInfo) {
    features.variables = true;
    features.image = true;
    features.services = true;
    features.session = true;
    features.terminal = true;
    features.proxy = true;
    features.service_variables = true;
    features.service_multiple_aliases = true;
    features.image_executor_opts = true;
    features.service_executor_opts = true;
}
