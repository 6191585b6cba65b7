//! Retries of `prepare`.

use crate::forward::{forward_executor, forward_provider};
use async_trait::async_trait;
use executor_core::{
    AcquireError, BuildError, Cancellation, Executor, ExecutorData, ExecutorProvider,
    HumanDuration, JobOutcome, JobTraceExt, PrepareOptions, PreparedEnvironment, ProviderError,
    ProviderLayer, RunnerConfig, StageCell, StageCommand, StageResult,
};
use std::sync::Arc;
use std::time::Duration;

/// Retries `prepare` with a new executor after a temporary failure.
///
/// # What it changes
///
/// When `prepare` fails with a [temporary](BuildError::is_temporary) error, the layer cleans up the
/// failed executor, pauses, and creates a new executor from the same [`ExecutorData`]. The job's log has
/// a line for each failed attempt. Stages are never retried: a script that ran halfway may have had
/// effects.
///
/// The last error is [marked](BuildError::given_up) as no longer temporary. Neither a second
/// `RetryLayer` nor the job runner then retries: the innermost retry decides.
///
/// # Cancellation
///
/// A stop ends the current attempt or pause; no further attempt follows.
///
/// # Examples
///
/// Right: a [`TimeoutLayer`](crate::TimeoutLayer) outside, which limits all attempts together.
/// Wrong: one inside. It limits each attempt alone, and a timeout is not temporary, so it ends the
/// attempts.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{RetryLayer, TimeoutLayer};
/// use executor_testkit::{Directive, Failure, Moment, OptionsBuilder, ScriptedProvider};
/// use std::time::Duration;
///
/// /// Each attempt takes 4 seconds and fails.
/// fn host() -> ScriptedProvider {
///     let host = ScriptedProvider::new();
///     let failure = Directive::fail(Failure::temporary("connect"));
///     host.on(Moment::Prepare, failure.delay(Duration::from_secs(4)));
///     host
/// }
///
/// async fn prepare(provider: Arc<dyn ExecutorProvider>) -> Result<BuildError, BuildError> {
///     let mut executor = provider.create(&ExecutorData::new())?;
///     let prepared = executor.prepare(OptionsBuilder::new().build(), &Cancellation::new()).await;
///     executor.cleanup().await?;
///     Ok(prepared.expect_err("the host is down"))
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), BuildError> {
/// let retry = RetryLayer::new();
/// let timeout = TimeoutLayer::new().with_prepare(Duration::from_secs(10));
///
/// let right = ProviderStack::new(host()).layer(&retry).layer(&timeout).build();
/// let start = tokio::time::Instant::now();
/// assert!(matches!(prepare(right).await?, BuildError::Timeout { phase: "prepare", .. }));
/// assert_eq!(start.elapsed().as_secs(), 10);
///
/// let wrong = ProviderStack::new(host()).layer(&timeout).layer(&retry).build();
/// let start = tokio::time::Instant::now();
/// assert!(matches!(prepare(wrong).await?, BuildError::System { .. }));
/// assert_eq!(start.elapsed().as_secs(), 3 * 4 + 2 * 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RetryLayer {
    attempts: u32,
    pause: Duration,
}

impl RetryLayer {
    /// Returns a layer with GitLab Runner's defaults: 3 attempts, 3 seconds apart.
    pub fn new() -> Self {
        Self {
            attempts: 3,
            pause: Duration::from_secs(3),
        }
    }

    /// Sets the total number of attempts; default 3, and 0 counts as 1.
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the pause between two attempts; default 3 seconds.
    pub fn with_pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl ProviderLayer for RetryLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(RetryProvider {
            inner,
            layer: self.clone(),
        })
    }
}

/// A provider wrapped in a [`RetryLayer`].
#[derive(Debug)]
pub struct RetryProvider {
    inner: Arc<dyn ExecutorProvider>,
    layer: RetryLayer,
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for RetryProvider {
    forward_provider!(inner: can_create);

    fn create(&self, data: &ExecutorData) -> Result<Box<dyn Executor>, BuildError> {
        let executor = self.inner.create(data)?;
        let stage = StageCell::new();
        stage.follow(executor.stage_cell());
        Ok(Box::new(RetryExecutor {
            inner: executor,
            provider: Arc::clone(&self.inner),
            data: data.clone(),
            layer: self.layer.clone(),
            stage,
        }))
    }

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        self.inner.acquire(config, cancellation).await
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        self.inner.release(config, data).await;
    }

    forward_provider!(inner: features, config_info, default_shell, init);

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}

/// An executor whose `prepare` is retried.
#[derive(Debug)]
pub struct RetryExecutor {
    /// The executor of the latest attempt.
    inner: Box<dyn Executor>,
    provider: Arc<dyn ExecutorProvider>,
    data: ExecutorData,
    layer: RetryLayer,
    /// Follows the latest executor, for readers that took the cell earlier.
    stage: StageCell,
}

impl RetryExecutor {
    async fn attempt(
        &mut self,
        attempt: u32,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        if attempt > 1 {
            self.inner = self.provider.create(&self.data)?;
            self.stage.follow(self.inner.stage_cell());
        }
        self.inner.prepare(options, cancellation).await
    }

    /// Cleans up after a failed attempt; a later executor would not find its resources.
    async fn clean_up_failed(&mut self, options: &PrepareOptions) {
        if let Err(error) = self.inner.cleanup().await {
            let text = format!("failed to clean up: {}", error.chain());
            options.trace.warning_line(&text);
        }
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Executor for RetryExecutor {
    forward_executor!(inner: shell);

    async fn prepare(
        &mut self,
        options: PrepareOptions,
        cancellation: &Cancellation,
    ) -> Result<PreparedEnvironment, BuildError> {
        let RetryLayer { attempts, pause } = self.layer;
        let mut attempt = 1;
        loop {
            let prepared = self.attempt(attempt, options.clone(), cancellation).await;
            let error = match prepared {
                Err(error) if error.is_temporary() => error,
                other => return other,
            };
            if attempt >= attempts {
                return Err(error.given_up());
            }
            self.clean_up_failed(&options).await;
            options.trace.warning_line(&format!(
                "attempt {attempt} of {attempts} to prepare failed, next attempt in {}: {}",
                HumanDuration(pause),
                error.chain()
            ));
            self::pause(pause, cancellation).await?;
            attempt += 1;
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

    forward_executor!(inner: abilities);
}

/// Pauses between two attempts.
///
/// # Errors
///
/// [`BuildError::Canceled`], at once, when a stop is requested.
pub(crate) async fn pause(
    duration: Duration,
    cancellation: &Cancellation,
) -> Result<(), BuildError> {
    tokio::select! {
        () = tokio::time::sleep(duration) => {}
        _ = cancellation.canceled() => {}
    }
    Ok(cancellation.check()?)
}
