use crate::timeout::TimeoutProvider;
use executor_core::{ExecutorProvider, ProviderLayer};
use std::sync::Arc;
use std::time::Duration;

/// Gives each kind of call a deadline.
///
/// No call has one unless it is set. They are for back ends that hang, not for jobs that take long:
/// a job's own timeout is the business of the job runner, which knows what has to follow it.
///
/// # What it changes
///
/// A call that takes too long is stopped through a [`Cancellation`] of its own and awaited; its
/// future is not dropped in the middle. What it returns then depends on the call:
///
/// | call | is stopped by | and then says |
/// |---|---|---|
/// | `acquire` | abort | [`AcquireError::NoFreeExecutor`]: asking later may help |
/// | `prepare` | abort | [`BuildError::Timeout`] |
/// | `run` | cancel, and abort after the runner's grace periods | [`BuildError::Timeout`] |
/// | `cleanup` | dropping it: nothing else stops it | [`BuildError::Timeout`] |
/// | `shutdown` | a shorter deadline, then dropping it | [`ProviderError`] |
///
/// A call that comes to its end all the same, with success or an error of its own, is believed: what
/// was reserved or made then is not lost.
///
/// **The last resort.** A call that obeys no stop within [`with_patience`](Self::with_patience) is
/// dropped in the middle, which the contract does not foresee: a broken back end must not hold up the
/// runner for ever. The log says so, `acquire` says [`AcquireError::Provider`], and the executor runs
/// no further stage; its `cleanup` is still called.
///
/// # Examples
///
/// Right: around what waits. Wrong: inside of it, where the waiting has no deadline.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{ConcurrencyLimitLayer, TimeoutLayer, WhenFull};
/// use executor_testkit::{ScriptedProvider, runner_config};
/// use std::time::Duration;
///
/// /// Asks for capacity twice, when there is one, and says what comes of the second.
/// async fn ask_twice(provider: Arc<dyn ExecutorProvider>) -> Result<ExecutorData, AcquireError> {
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
/// assert!(matches!(ask_twice(right).await, Err(AcquireError::NoFreeExecutor)));
///
/// let wrong = ProviderStack::new(ScriptedProvider::new()).layer(&timeout).layer(&one()).build();
/// let an_hour = tokio::time::timeout(Duration::from_hours(1), ask_twice(wrong)).await;
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
    /// Returns a layer without any deadline.
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

    /// Sets the longest that capacity may take; default no limit.
    pub fn with_acquire(mut self, limit: Duration) -> Self {
        self.acquire = Some(limit);
        self
    }

    /// Sets the longest that a preparation may take; default no limit.
    pub fn with_prepare(mut self, limit: Duration) -> Self {
        self.prepare = Some(limit);
        self
    }

    /// Sets the longest that each single stage may take; default no limit.
    pub fn with_run(mut self, limit: Duration) -> Self {
        self.run = Some(limit);
        self
    }

    /// Sets the longest that each `cleanup` may take; default no limit but the executor's own.
    pub fn with_cleanup(mut self, limit: Duration) -> Self {
        self.cleanup = Some(limit);
        self
    }

    /// Sets the longest that `shutdown` may take; default what its caller allows.
    pub fn with_shutdown(mut self, limit: Duration) -> Self {
        self.shutdown = Some(limit);
        self
    }

    /// Sets how long a call that was told to stop is awaited before it is dropped; default 1 minute.
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
