use executor_core::ability::Abilities;
use executor_core::prelude::*;
use std::time::Duration;

/// A provider that hears nothing: what waits never ends, whoever wants it to.
#[derive(Debug)]
pub(crate) struct Deaf<T> {
    inner: T,
}

impl Deaf<Arc<dyn ExecutorProvider>> {
    pub(crate) fn around(inner: Arc<dyn ExecutorProvider>) -> Self {
        Self { inner }
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for Deaf<Arc<dyn ExecutorProvider>> {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.inner.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let inner = self.inner.create(data)?;
        Ok(Box::new(Deaf { inner }))
    }

    async fn acquire(
        &self,
        _config: &RunnerConfig,
        _cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        std::future::pending().await
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.inner.release(config, data).await;
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
        self.inner.init()
    }

    async fn shutdown(&self, _deadline: Duration) -> Result<(), ProviderError> {
        std::future::pending().await
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for Deaf<Box<dyn Executor>> {
    fn shell(&self) -> &ShellInfo {
        self.inner.shell()
    }

    async fn prepare(
        &mut self,
        _options: PrepareOptions,
        _cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        std::future::pending().await
    }

    async fn run(
        &mut self,
        _command: StageCommand,
        _cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        std::future::pending().await
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.inner.finish(outcome).await;
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.inner.cleanup().await
    }

    fn current_stage(&self) -> ExecutorStage {
        self.inner.current_stage()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        self.inner.set_current_stage(stage);
    }

    fn stage_cell(&self) -> StageCell {
        self.inner.stage_cell()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }
}
