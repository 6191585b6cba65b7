//! Capacity comes back whoever panics between `acquire` and `release`, and workers live on.

use crate::support::Bench;
use executor_core::prelude::*;
use executor_core::{
    ErrorPolicy, JobId, JobOutcome, JobRequest, JobSource, JobSourceError, NextJob, TurnOutcome,
    WorkerError,
};
use executor_testkit::SourceReply;
use std::time::Duration;

/// The call that panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// Does not panic, but withdraws.
    Withdraw,
    Acquire,
    Release,
    Features,
    ConfigInfo,
    DefaultShell,
    Next,
    Finished,
}

/// A provider and a source that hand on every call but one.
#[derive(Debug)]
struct Breaks<T: ?Sized> {
    at: Call,
    inner: Arc<T>,
}

impl<T: ?Sized> Breaks<T> {
    fn pass(&self, call: Call) {
        assert_ne!(self.at, call, "this call is broken");
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for Breaks<dyn ExecutorProvider> {
    fn can_create(&self) -> Result<(), ProviderError> {
        self.inner.can_create()
    }

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        self.inner.create(data)
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        if self.at == Call::Withdraw {
            return Err(AcquireError::Canceled(CancelCause::EnvironmentLost));
        }
        self.pass(Call::Acquire);
        self.inner.acquire(config, cancellation).await
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.inner.release(config, data).await;
        self.pass(Call::Release);
    }

    fn features(&self, features: &mut FeaturesInfo) -> Result<(), ProviderError> {
        self.pass(Call::Features);
        self.inner.features(features)
    }

    fn config_info(&self, config: &RunnerConfig, info: &mut ConfigInfo) {
        self.pass(Call::ConfigInfo);
        self.inner.config_info(config, info);
    }

    fn default_shell(&self) -> Option<ShellDialect> {
        self.pass(Call::DefaultShell);
        self.inner.default_shell()
    }

    fn init(&self) -> Result<(), ProviderError> {
        self.inner.init()
    }

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}

#[async_trait]
impl JobSource for Breaks<dyn JobSource> {
    async fn next(
        &self,
        request: &JobRequest,
        cancellation: &Cancellation,
    ) -> Result<NextJob, JobSourceError> {
        self.pass(Call::Next);
        self.inner.next(request, cancellation).await
    }

    async fn finished(&self, job: JobId, outcome: JobOutcome) {
        self.pass(Call::Finished);
        self.inner.finished(job, outcome).await;
    }
}

async fn check(at: Call) {
    let bench = Bench::new();
    bench.hand_out(7);
    let mut worker = bench.worker();
    worker.provider = Arc::new(Breaks {
        at,
        inner: worker.provider,
    });
    worker.source = Arc::new(Breaks {
        at,
        inner: worker.source,
    });
    let error = worker.take_turn(&Cancellation::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::Panicked(_)), "{at:?}: {error}");
    let words = executor_core::chain(&error);
    assert!(words.contains("this call is broken"), "{words}");
    let counts = bench.provider.counts();
    let acquired = usize::from(at != Call::Acquire);
    assert_eq!(
        (counts.acquire, counts.release),
        (acquired, acquired),
        "{at:?}"
    );
    bench.provider.assert_obeyed();
}

#[tokio::test]
async fn capacity_comes_back_after_a_panic_of_the_provider() {
    // R-EXEC-35
    check(Call::Features).await;
    check(Call::ConfigInfo).await;
    check(Call::DefaultShell).await;
    check(Call::Release).await;
    // Nothing was had then, and the worker is there to ask again.
    check(Call::Acquire).await;
}

#[tokio::test]
async fn capacity_comes_back_after_a_panic_of_the_source() {
    // R-EXEC-35
    check(Call::Next).await;
    check(Call::Finished).await;
}

#[tokio::test]
async fn a_worker_that_retries_survives_a_panic() {
    let bench = Bench::new();
    bench.source.reply(SourceReply::Panic("once".to_owned()));
    bench.hand_out(7);
    bench.worker().run(&Cancellation::new()).await.unwrap();
    assert_eq!(bench.source.outcomes().len(), 1);
    let counts = bench.provider.counts();
    assert_eq!((counts.acquire, counts.release), (3, 3));
}

#[tokio::test]
async fn a_provider_that_withdraws_by_itself_does_not_end_the_worker() {
    let bench = Bench::new();
    let mut worker = bench.worker();
    worker.provider = Arc::new(Breaks {
        at: Call::Withdraw,
        inner: worker.provider,
    });
    let cancellation = Cancellation::new();
    let turn = worker.take_turn(&cancellation).await.unwrap();
    assert_eq!(turn, TurnOutcome::NoCapacity);
    cancellation.cancel(CancelCause::Shutdown);
    let turn = worker.take_turn(&cancellation).await.unwrap();
    assert_eq!(turn, TurnOutcome::Closed);
}

#[tokio::test]
async fn a_worker_that_gives_up_returns_the_first_trouble() {
    let bench = Bench::new();
    bench.source.reply(SourceReply::None);
    bench.source.reply(SourceReply::Error("503".to_owned()));
    bench.hand_out(7);
    let mut worker = bench.worker();
    worker.on_error = ErrorPolicy::Fail;
    let error = worker.run(&Cancellation::new()).await.unwrap_err();
    assert!(matches!(error, WorkerError::Source(_)), "{error}");
    assert_eq!(bench.source.outcomes().len(), 0);
    // What it gave up is there for another worker.
    let turn = worker.take_turn(&Cancellation::new()).await.unwrap();
    assert_eq!(turn, TurnOutcome::RanJob);
}
