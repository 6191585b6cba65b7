use crate::fallback::layer::MovesOn;
use crate::fallback::members::Members;
use crate::fallback::policy::may_go_better_elsewhere;
use crate::forward::forward_executor;
use async_trait::async_trait;
use executor_core::ability::{PortProxy, StepsConnector, Terminal};
use executor_core::{
    AcquireError, BuildError, Cancellation, Executor, ExecutorData, FeaturesInfo, JobOutcome,
    JobTraceExt, PrepareOptions, PreparedEnvironment, StageCell, StageCommand, StageResult,
};
use std::sync::Arc;

/// An executor that may be that of another provider once it is prepared.
#[derive(Debug)]
pub struct FallbackExecutor {
    /// That of the member which has the job now.
    inner: Box<dyn Executor>,
    members: Arc<Members>,
    moves_on: MovesOn,
    data: ExecutorData,
    promised: FeaturesInfo,
    /// Follows the current executor, for whoever took it before.
    stage: StageCell,
}

impl FallbackExecutor {
    pub(super) fn new(
        inner: Box<dyn Executor>,
        members: Arc<Members>,
        moves_on: MovesOn,
        data: ExecutorData,
    ) -> Self {
        let stage = StageCell::new();
        stage.follow(inner.stage_cell());
        Self {
            inner,
            // A provider that cannot tell its features any more promises nothing.
            promised: members.features().unwrap_or_default(),
            members,
            moves_on,
            data,
            stage,
        }
    }

    fn moves_on_after(&self, error: &BuildError) -> bool {
        self.moves_on == MovesOn::AlsoAfterFailedPrepare && may_go_better_elsewhere(error)
    }

    /// Puts the executor of the next member with capacity in the place of the failed one.
    ///
    /// # Errors
    ///
    /// `failure`, when no further member has capacity.
    async fn move_on(
        &mut self,
        failure: BuildError,
        options: &PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<(), BuildError> {
        let Some(all) = self.members.held(&self.data) else {
            return Err(failure);
        };
        let Some(failed) = all.current() else {
            return Err(failure);
        };
        let config = &options.config;
        let next = self
            .members
            .acquire_from(failed.provider + 1, config, cancellation);
        let next = match next.await {
            Ok(next) => next,
            Err(AcquireError::Canceled(cause)) => return Err(BuildError::Canceled(cause)),
            Err(_) => return Err(failure),
        };
        options.trace.warning_line(&format!(
            "failed to prepare, going on with provider {} of {}: {}",
            next.provider + 1,
            self.members.len(),
            failure.chain()
        ));
        // Noted first, so that it is released whatever happens from here on.
        all.add(next);
        if let Err(error) = self.inner.cleanup().await {
            let text = format!("failed to clean up: {}", error.chain());
            options.trace.warning_line(&text);
        }
        while let Some(failed) = all.take_failed() {
            self.members.release(config, failed).await;
        }
        self.inner = self.members.create(&self.data)?;
        self.stage.follow(self.inner.stage_cell());
        Ok(())
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for FallbackExecutor {
    forward_executor!(inner: shell);

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        loop {
            match self.inner.prepare(options.clone(), cancellation).await {
                Err(error) if self.moves_on_after(&error) && !cancellation.is_canceled() => {
                    self.move_on(error, &options, cancellation).await?;
                }
                prepared => return prepared,
            }
        }
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

    fn steps(&self) -> Option<Arc<dyn StepsConnector>> {
        let is_promised = self.promised.native_steps_integration;
        self.inner.steps().filter(|_| is_promised)
    }

    fn terminal(&self) -> Option<Arc<dyn Terminal>> {
        self.inner.terminal().filter(|_| self.promised.terminal)
    }

    forward_executor!(inner: file_transfer);

    fn port_proxy(&self) -> Option<Arc<dyn PortProxy>> {
        self.inner.port_proxy().filter(|_| self.promised.proxy)
    }

    forward_executor!(inner: suspend, resumable);
}
