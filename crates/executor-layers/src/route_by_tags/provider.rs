use crate::provider_set::shutdown_all;
use crate::reservations::Reservations;
use crate::route_by_tags::RouteByTagsExecutor;
use crate::route_by_tags::routes::{Routes, not_acquired};
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, ConfigInfo, Executor, ExecutorData, ExecutorProvider,
    FeaturesInfo, ProviderError, RunnerConfig, ShellDialect,
};
use std::sync::Arc;
use std::time::Duration;

/// The providers combined by a [`RouteByTagsLayer`](crate::RouteByTagsLayer).
#[derive(Debug)]
pub struct RouteByTagsProvider {
    pub(super) routes: Arc<Routes>,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for RouteByTagsProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        let mut providers = self.routes.providers();
        providers.try_for_each(|provider| provider.can_create())
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        if self.routes.held(data).is_none() {
            return Err(not_acquired());
        }
        let routes = Arc::clone(&self.routes);
        Ok(Box::new(RouteByTagsExecutor::new(routes, data.clone())))
    }

    async fn acquire(
        &self,
        _config: &RunnerConfig,
        _cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let data = ExecutorData::new();
        Ok(self.routes.owner.put(data, Reservations::default()))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let Some(held) = self.routes.held(&data).and_then(Reservations::take) else {
            return;
        };
        let provider = &self.routes.list[held.provider].provider;
        provider.release(config, held.data).await;
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        *features = features.union(self.routes.features()?);
        Ok(())
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        self.routes.default_provider().config_info(config, info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.routes.default_provider().default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        let mut providers = self.routes.providers();
        providers.try_for_each(|provider| provider.init())
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        shutdown_all(self.routes.providers(), deadline).await
    }
}
