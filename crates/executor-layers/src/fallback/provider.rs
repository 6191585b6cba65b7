use crate::fallback::FallbackExecutor;
use crate::fallback::layer::FallbackTrigger;
use crate::fallback::members::Members;
use crate::provider_set::shutdown_all;
use async_trait::async_trait;
use executor_core::panics::catch_panic;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, ProviderError, RunnerConfig, ShellDialect,
};
use std::sync::Arc;
use std::time::Duration;

/// The providers combined by a [`FallbackLayer`](crate::FallbackLayer).
#[derive(Debug)]
pub struct FallbackProvider {
    pub(super) members: Arc<Members>,
    pub(super) trigger: FallbackTrigger,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for FallbackProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        let mut result = Ok(());
        for provider in self.members.providers() {
            match provider.can_create() {
                Ok(()) => return Ok(()),
                // The error of the preferred provider is the most useful.
                error => result = result.and(error),
            }
        }
        result
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let executor = self.members.create(data)?;
        let members = Arc::clone(&self.members);
        let executor = FallbackExecutor::new(executor, members, self.trigger, data.clone());
        Ok(Box::new(executor))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let held = self.members.acquire_from(0, config, cancellation).await?;
        Ok(self.members.put(held))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let Some(all) = self.members.held(&data) else {
            return;
        };
        let mut panic = None;
        while let Some(held) = all.take() {
            // A panic of one provider must not keep the reservations of the others.
            if let Err(caught) = catch_panic(self.members.release(config, held)).await {
                panic.get_or_insert(caught);
            }
        }
        if let Some(panic) = panic {
            panic.resume();
        }
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        *features = features.union(self.members.features()?);
        Ok(())
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        self.members.first().config_info(config, info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.members.first().default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        self.members.init()
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        shutdown_all(self.members.providers(), deadline).await
    }
}
