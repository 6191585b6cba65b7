use async_trait::async_trait;
use executor_core::ability::Abilities;
use executor_core::trace::JobTraceExt;
use executor_core::{
    BuildError, Cancellation, Executor, ExecutorStage, JobOutcome, PrepareOptions,
    PreparedEnvironment, ShellInfo, StageCell, StageCommand, StageResult,
};
use std::sync::Arc;

/// An executor that becomes one of two in `prepare`.
#[derive(Debug)]
pub struct ByImageExecutor {
    /// That of this host, until `prepare`.
    inner: Box<dyn Executor>,
    /// That of containers, or why there is none; taken in `prepare`.
    containers: Option<Result<Box<dyn Executor>, Arc<str>>>,
    /// Follows the chosen executor's stage, also for clones from before.
    stage: StageCell,
}

impl ByImageExecutor {
    pub(super) fn new(
        containers: Result<Box<dyn Executor>, Arc<str>>,
        host: Box<dyn Executor>,
    ) -> Self {
        let stage = StageCell::new();
        stage.follow(host.stage_cell());
        Self {
            inner: host,
            containers: Some(containers),
            stage,
        }
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for ByImageExecutor {
    fn shell(&self) -> &ShellInfo {
        self.inner.shell()
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let containers = self.containers.take();
        if let Some(containers) = containers.filter(|_| !options.job.image.name.is_empty()) {
            self.inner = containers.map_err(|reason| {
                BuildError::config(format!(
                    "the job has an image, which needs a container: {reason}"
                ))
            })?;
            self.stage.follow(self.inner.stage_cell());
        } else {
            let text = "The job names no image: it runs on this machine itself";
            options.trace.system_line(text);
        }
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

    fn current_stage(&self) -> ExecutorStage {
        self.inner.current_stage()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        self.inner.set_current_stage(stage);
    }

    fn stage_cell(&self) -> StageCell {
        self.stage.clone()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }
}
