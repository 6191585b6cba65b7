use crate::timeout::TimeoutProvider;
use executor_core::{ExecutorProvider, ProviderLayer};
use std::sync::Arc;
use std::time::Duration;

/// Sets a deadline for each kind of call.
///
/// By default no call has a deadline. Deadlines are for back ends that hang, not for long jobs: the job
/// runner handles a job's own timeout, because it knows the stages that follow.
///
/// # What it changes
///
/// A call that takes too long is stopped through its own [`Cancellation`] and awaited; its future is not
/// dropped halfway. The result depends on the call:
///
/// | call | stopped by | result |
/// |---|---|---|
/// | `acquire` | abort | [`AcquireError::NoFreeExecutor`]: a later request may succeed |
/// | `prepare` | abort | [`BuildError::Timeout`] |
/// | `run` | cancel, and abort after the runner's grace periods | [`BuildError::Timeout`] |
/// | `cleanup` | dropping it, since it takes no cancellation | [`BuildError::Timeout`] |
/// | `shutdown` | a shorter deadline, then dropping it | [`ProviderError`] |
///
/// A stopped call that still ends with success or with its own error keeps that result, so that its
/// reservations and resources are not lost.
///
/// **Last resort.** A call that obeys no stop within [`with_patience`](Self::with_patience) is dropped
/// halfway. The contract does not allow that, but a broken back end must not block the runner forever.
/// It is logged, `acquire` returns [`AcquireError::Provider`], and the executor runs no further stage;
/// its `cleanup` is still called.
///
/// # Examples
///
/// Right: around a layer that waits. Wrong: inside it, where the wait has no deadline.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{ConcurrencyLimitLayer, TimeoutLayer, WhenFull};
/// use executor_testkit::{ScriptedProvider, runner_config};
/// use std::time::Duration;
///
/// /// Acquires capacity twice and returns the second result.
/// async fn acquire_twice(provider: Arc<dyn ExecutorProvider>) -> Result<ExecutorData, AcquireError> {
///     let (config, go_on) = (runner_config("busy"), Cancellation::new());
///     let _first = provider.acquire(&config, &go_on).await?;
///     provider.acquire(&config, &go_on).await
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let one = || ConcurrencyLimitLayer::concurrent(1).when_full(WhenFull::Wait);
/// let timeout = TimeoutLayer::new().with_acquire(Duration::from_secs(10));
///
/// let right = ProviderStack::new(ScriptedProvider::new()).layer(&one()).layer(&timeout).build();
/// assert!(matches!(acquire_twice(right).await, Err(AcquireError::NoFreeExecutor)));
///
/// let wrong = ProviderStack::new(ScriptedProvider::new()).layer(&timeout).layer(&one()).build();
/// let an_hour = tokio::time::timeout(Duration::from_hours(1), acquire_twice(wrong)).await;
/// assert!(an_hour.is_err(), "it still waits");
/// # }
/// ```
///
/// [`AcquireError::NoFreeExecutor`]: executor_core::AcquireError::NoFreeExecutor
/// [`AcquireError::Provider`]: executor_core::AcquireError::Provider
/// [`BuildError::Timeout`]: executor_core::BuildError::Timeout
/// [`Cancellation`]: executor_core::Cancellation
/// [`ProviderError`]: executor_core::ProviderError
#[derive(Debug, Clone)]
pub struct TimeoutLayer {
    pub(super) acquire: Option<Duration>,
    pub(super) prepare: Option<Duration>,
    pub(super) run: Option<Duration>,
    pub(super) cleanup: Option<Duration>,
    pub(super) shutdown: Option<Duration>,
    pub(super) patience: Duration,
}

impl TimeoutLayer {
    /// Returns a layer without deadlines.
    pub fn new() -> Self {
        Self {
            acquire: None,
            prepare: None,
            run: None,
            cleanup: None,
            shutdown: None,
            patience: Duration::from_mins(1),
        }
    }

    /// Sets the limit of `acquire`; default none.
    pub fn with_acquire(mut self, limit: Duration) -> Self {
        self.acquire = Some(limit);
        self
    }

    /// Sets the limit of `prepare`; default none.
    pub fn with_prepare(mut self, limit: Duration) -> Self {
        self.prepare = Some(limit);
        self
    }

    /// Sets the limit of each `run`, that is of each stage; default none.
    pub fn with_run(mut self, limit: Duration) -> Self {
        self.run = Some(limit);
        self
    }

    /// Sets the limit of each `cleanup`; default only the executor's own.
    pub fn with_cleanup(mut self, limit: Duration) -> Self {
        self.cleanup = Some(limit);
        self
    }

    /// Sets the limit of `shutdown`; default the caller's deadline.
    pub fn with_shutdown(mut self, limit: Duration) -> Self {
        self.shutdown = Some(limit);
        self
    }

    /// Sets the time for a stopped call to end before it is dropped; default 1 minute.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl Default for TimeoutLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl ProviderLayer for TimeoutLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(TimeoutProvider {
            inner,
            layer: self.clone(),
        })
    }
}
