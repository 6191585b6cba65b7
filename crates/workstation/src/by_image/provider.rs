use super::ByImageExecutor;
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, ProviderError, RunnerConfig, ShellDialect,
};
use std::sync::Arc;
use std::time::Duration;

/// Runs jobs with an image with one provider, and all others with another one.
///
/// The provider is chosen when a job is prepared, so both reserve capacity for it. The features are those of both.
///
/// # Examples
///
/// ```
/// use workstation::ByImage;
/// use executor_core::prelude::*;
/// use std::sync::Arc;
///
/// fn nowhere() -> Arc<dyn ExecutorProvider> {
///     let provider = DefaultExecutorProvider::new(ShellDialect::platform_default());
///     Arc::new(provider.with_creator(|_data| Err(BuildError::config("put an executor here"))))
/// }
///
/// let provider = ByImage::new(nowhere(), nowhere());
/// assert!(provider.can_create().is_ok());
/// ```
#[derive(Debug, Clone)]
pub struct ByImage {
    /// That of jobs with an image, or why there is none.
    containers: Result<Arc<dyn ExecutorProvider>, Arc<str>>,
    host: Arc<dyn ExecutorProvider>,
}

/// The data of both for a job.
#[derive(Debug)]
struct Both {
    containers: ExecutorData,
    host: ExecutorData,
}

impl ByImage {
    /// Returns the provider.
    pub fn new(containers: Arc<dyn ExecutorProvider>, host: Arc<dyn ExecutorProvider>) -> Self {
        let containers = Ok(containers);
        Self { containers, host }
    }

    /// Returns a provider that refuses jobs with an image, with this reason.
    pub fn without_containers(host: Arc<dyn ExecutorProvider>, reason: &str) -> Self {
        let containers = Err(reason.into());
        Self { containers, host }
    }
}

#[async_trait]
impl ExecutorProvider for ByImage {
    fn can_create(&self) -> Result<(), ProviderError> {
        if let Ok(containers) = &self.containers {
            containers.can_create()?;
        }
        self.host.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let both = data.get::<Both>();
        let of_containers = both.map_or(data, |both| &both.containers);
        let of_host = both.map_or(data, |both| &both.host);
        let containers = match &self.containers {
            Ok(containers) => Ok(containers.create(of_containers)?),
            Err(reason) => Err(Arc::clone(reason)),
        };
        let host = self.host.create(of_host)?;
        Ok(Box::new(ByImageExecutor::new(containers, host)))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let Ok(provider) = &self.containers else {
            return self.host.acquire(config, cancellation).await;
        };
        let containers = provider.acquire(config, cancellation).await?;
        let host = match self.host.acquire(config, cancellation).await {
            Ok(host) => host,
            Err(error) => {
                provider.release(config, containers).await;
                return Err(error);
            }
        };
        Ok(ExecutorData::new().with(Both { containers, host }))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let Ok(provider) = &self.containers else {
            return self.host.release(config, data).await;
        };
        if let Some(both) = data.get::<Both>() {
            provider.release(config, both.containers.clone()).await;
            self.host.release(config, both.host.clone()).await;
        }
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        if let Ok(containers) = &self.containers {
            containers.features(features)?;
        }
        self.host.features(features)
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        let provider = self.containers.as_ref().unwrap_or(&self.host);
        provider.config_info(config, info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.host.default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        if let Ok(containers) = &self.containers {
            containers.init()?;
        }
        self.host.init()
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        let Ok(containers) = &self.containers else {
            return self.host.shutdown(deadline).await;
        };
        let (containers, host) =
            tokio::join!(containers.shutdown(deadline), self.host.shutdown(deadline));
        containers.and(host)
    }
}
