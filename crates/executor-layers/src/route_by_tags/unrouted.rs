use async_trait::async_trait;
use executor_core::ability::Abilities;
use executor_core::{
    BuildError, Cancellation, Executor, ExecutorStage, JobOutcome, PrepareOptions,
    PreparedEnvironment, ShellInfo, StageCell, StageCommand, StageResult,
};

/// The placeholder before a route is chosen; it has nothing to run or to clean up.
#[derive(Debug)]
pub(super) struct Unrouted {
    shell: ShellInfo,
    stage: StageCell,
}

impl Unrouted {
    pub(super) fn new(shell: ShellInfo) -> Self {
        Self {
            shell,
            stage: StageCell::new(),
        }
    }
}

fn no_route_yet<T>() -> Result<T, BuildError> {
    Err(BuildError::not_prepared("route-by-tags"))
}

#[async_trait]
impl Executor for Unrouted {
    fn shell(&self) -> &ShellInfo {
        &self.shell
    }

    async fn prepare(
        &mut self,
        _options: PrepareOptions,
        _cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        no_route_yet()
    }

    async fn run(
        &mut self,
        _command: StageCommand,
        _cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        no_route_yet()
    }

    async fn finish(&mut self, _outcome: &JobOutcome) {
        self.stage.set(ExecutorStage::FINISH);
    }

    async fn cleanup(&mut self) -> Result<(), BuildError> {
        self.stage.set(ExecutorStage::CLEANUP);
        Ok(())
    }

    fn current_stage(&self) -> ExecutorStage {
        self.stage.get()
    }

    fn set_current_stage(&self, stage: ExecutorStage) {
        self.stage.set(stage);
    }

    fn stage_cell(&self) -> StageCell {
        self.stage.clone()
    }

    fn abilities(&self) -> Abilities {
        Abilities::none()
    }
}
