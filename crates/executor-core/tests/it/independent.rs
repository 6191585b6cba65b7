//! An executor without the shared base, made outside of this crate.

use crate::support::Bench;
use executor_core::ability::Abilities;
use executor_core::prelude::*;
use executor_core::{JobState, ProviderRegistry, TurnOutcome, Worker};

/// Keeps all it needs itself; runs nothing and says that it succeeded.
#[derive(Debug)]
pub(crate) struct Independent {
    shell: ShellInfo,
    stage: StageCell,
    trace: Option<Arc<dyn JobTrace>>,
}

impl Independent {
    pub(crate) fn new() -> Self {
        Self {
            shell: ShellInfo::new(ShellDialect::Sh),
            stage: StageCell::new(),
            trace: None,
        }
    }
}

#[async_trait]
impl Executor for Independent {
    fn shell(&self) -> &ShellInfo {
        &self.shell
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        _cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        self.stage.set(ExecutorStage::PREPARE);
        self.trace = Some(options.trace);
        Ok(PreparedEnvironment {
            shell: self.shell.clone(),
            workspace: Workspace::Remote {
                dirs: BuildDirs::default(),
                transfer: None,
            },
            hostname: "independent".to_owned(),
            variables: Vec::new(),
        })
    }

    async fn run(
        &mut self,
        command: StageCommand,
        _cancellation: &Cancellation,
    ) -> Result<StageResult, BuildError> {
        self.stage.set(ExecutorStage::RUN);
        let trace = self.trace.as_ref().expect("prepare came first");
        trace.write(TraceStream::STDOUT, command.script.as_bytes());
        Ok(StageResult::exited(0))
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

fn registry() -> ProviderRegistry {
    let provider = DefaultExecutorProvider::new(ShellDialect::Sh)
        .with_creator(|_data| Ok(Box::new(Independent::new())));
    let mut registry = ProviderRegistry::new();
    registry
        .register("independent", Arc::new(provider))
        .expect("nothing is missing");
    registry
}

#[tokio::test]
async fn an_executor_of_another_crate_runs_jobs_without_the_base() {
    // R-EXEC-03
    // R-EXEC-18
    let registry = registry();
    let bench = Bench::new();
    bench.hand_out(7);
    let worker = Worker {
        provider: Arc::clone(registry.get("independent").expect("it is registered")),
        ..bench.worker()
    };
    assert_eq!(
        worker.take_turn(&Cancellation::new()).await.unwrap(),
        TurnOutcome::RanJob
    );
    let (job, outcome) = bench.source.outcomes().remove(0);
    assert_eq!((job.0, outcome.state), (7, JobState::Success));
}

#[test]
fn the_traits_leave_no_way_to_cast_an_executor_down() {
    // R-EXEC-03
    let sources = [
        include_str!("../../src/executor.rs"),
        include_str!("../../src/provider.rs"),
        include_str!("../../src/layer.rs"),
    ]
    .concat();
    assert!(sources.contains("pub trait Executor: Send + Debug {"));
    assert!(sources.contains("pub trait ExecutorProvider: Send + Sync + Debug {"));
    for way in ["Any", "as_any", "downcast"] {
        let found = sources
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .any(|word| word == way);
        assert!(!found, "{way} is in the contract");
    }
}
