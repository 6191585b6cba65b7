//! Providers and executors that wrap others.

use crate::support::Bench;
use executor_core::ability::Abilities;
use executor_core::prelude::*;
use executor_core::{JobState, Worker};
use executor_testkit::{Lease, Timeline};
use std::time::Duration;

/// What a layer adds to the data of a job.
#[derive(Debug, PartialEq, Eq)]
struct Stamp(&'static str);

/// Puts its name into the data, and notes it around each `prepare`.
#[derive(Debug)]
struct StampLayer {
    name: &'static str,
    timeline: Timeline,
}

impl ProviderLayer for StampLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(StampProvider {
            name: self.name,
            timeline: self.timeline.clone(),
            inner,
        })
    }
}

#[derive(Debug)]
struct StampProvider {
    name: &'static str,
    timeline: Timeline,
    inner: Arc<dyn ExecutorProvider>,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for StampProvider {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.inner.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        assert!(data.get::<Stamp>().is_some(), "a layer took it away");
        Ok(Box::new(StampExecutor {
            name: self.name,
            timeline: self.timeline.clone(),
            inner: self.inner.create(data)?,
        }))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        self.timeline.note(format!("{} acquires", self.name));
        let data = self.inner.acquire(config, cancellation).await?;
        Ok(data.with(Stamp(self.name)))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.inner.release(config, data).await;
        self.timeline.note(format!("{} releases", self.name));
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

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}

#[derive(Debug)]
struct StampExecutor {
    name: &'static str,
    timeline: Timeline,
    inner: Box<dyn Executor>,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for StampExecutor {
    fn shell(&self) -> &ShellInfo {
        self.inner.shell()
    }

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        self.timeline.note(format!("{} prepares", self.name));
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
        self.inner.stage_cell()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }
}

#[tokio::test]
async fn wrapped_providers_run_jobs_and_keep_what_is_inside() {
    // R-EXEC-20
    let bench = Bench::new();
    bench.provider.set_features(FeaturesInfo {
        image: true,
        ..FeaturesInfo::default()
    });
    bench.hand_out(7);
    let layer = |name| StampLayer {
        name,
        timeline: bench.timeline.clone(),
    };
    let stack = ProviderStack::new(bench.provider.clone())
        .layer(&layer("inner"))
        .layer(&layer("outer"));
    let worker = Worker {
        provider: stack.build(),
        ..bench.worker()
    };
    worker.take_turn(&Cancellation::new()).await.unwrap();

    assert_eq!(bench.source.outcomes()[0].1.state, JobState::Success);
    assert!(
        bench.source.requests()[0].features.image,
        "the stack reports what is inside"
    );
    assert_eq!(
        bench
            .timeline
            .lines_of(&["outer", "inner", "provider.", "executor(1).p"]),
        [
            "outer acquires",
            "inner acquires",
            "provider.acquire",
            "provider.features",
            "provider.config_info",
            "provider.default_shell",
            "provider.create(1)",
            "outer prepares",
            "inner prepares",
            "executor(1).prepare",
            "provider.release",
            "inner releases",
            "outer releases",
        ]
    );
    bench.provider.assert_obeyed();
}

#[tokio::test]
async fn a_layer_adds_to_the_data_and_hides_nothing() {
    // R-EXEC-20
    let bench = Bench::new();
    let layer = |name| StampLayer {
        name,
        timeline: bench.timeline.clone(),
    };
    let stack = ProviderStack::from_arc(bench.provider.shared())
        .layer(&layer("inner"))
        .layer(&layer("outer"))
        .build();
    let config = executor_testkit::runner_config("stack");
    let data = stack.acquire(&config, &Cancellation::new()).await.unwrap();
    assert_eq!(data.get::<Lease>(), Some(&Lease { number: 1 }));
    assert_eq!(
        data.get::<Stamp>(),
        Some(&Stamp("outer")),
        "the newest is found"
    );
    assert_eq!(data.len(), 3);
    stack.release(&config, data).await;
    bench.provider.assert_obeyed();
}
