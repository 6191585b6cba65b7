use crate::forward::forward_executor;
use crate::route_by_tags::routes::Routes;
use crate::route_by_tags::unrouted::Unrouted;
use async_trait::async_trait;
use executor_core::ability::Abilities;
use executor_core::{
    BuildError, Cancellation, Executor, ExecutorData, FeaturesInfo, JobOutcome, PrepareOptions,
    PreparedEnvironment, ShellDialect, ShellInfo, StageCell, StageCommand, StageResult,
};
use std::sync::Arc;

/// An executor that `prepare` replaces with that of the chosen route.
#[derive(Debug)]
pub struct RouteByTagsExecutor {
    inner: Box<dyn Executor>,
    routes: Arc<Routes>,
    data: ExecutorData,
    advertised: FeaturesInfo,
    /// Follows the executor of the route, for readers that took the cell earlier.
    stage: StageCell,
}

impl RouteByTagsExecutor {
    pub(super) fn new(routes: Arc<Routes>, data: ExecutorData) -> Self {
        let shell = routes.default_provider().default_shell();
        let shell = shell.unwrap_or_else(ShellDialect::platform_default);
        let inner = Unrouted::new(ShellInfo::new(shell));
        let stage = StageCell::new();
        stage.follow(inner.stage_cell());
        Self {
            inner: Box::new(inner),
            // A provider that can no longer report its features advertises none.
            advertised: routes.features().unwrap_or_default(),
            routes,
            data,
            stage,
        }
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for RouteByTagsExecutor {
    forward_executor!(inner: shell);

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let routed = self.routes.executor(&self.data, &options, cancellation);
        self.inner = routed.await?;
        self.stage.follow(self.inner.stage_cell());
        self.inner.prepare(options, cancellation).await
    }

    async fn run(
        &mut self,
        command: StageCommand,
        cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.inner.run(command, cancellation).await
    }

    async fn finish(&mut self, outcome: &JobOutcome) {
        self.inner.finish(outcome).await;
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.inner.cleanup().await
    }

    forward_executor!(inner: current_stage, set_current_stage);

    fn stage_cell(&self) -> StageCell {
        self.stage.clone()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities().limited_to(&self.advertised)
    }
}
