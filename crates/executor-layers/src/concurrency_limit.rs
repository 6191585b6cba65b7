//! A limit on concurrent jobs.

use crate::forward::forward_provider;
use crate::owner::Owner;
use crate::permits::{Permit, PermitCounter};
use async_trait::async_trait;
use executor_core::{
    AcquireError, Cancellation, ExecutorData, ExecutorProvider, ProviderError, ProviderLayer,
    RunnerConfig,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The behaviour of a [`ConcurrencyLimitLayer`] at its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Returns [`AcquireError::NoFreeExecutor`] at once: the worker pauses and retries, and a
    /// [`FallbackLayer`](crate::FallbackLayer) tries its next provider.
    #[default]
    Refuse,
    /// Waits until a job ends or a stop is requested. The next job then starts at once instead of
    /// after the worker's pause.
    Wait,
}

/// Limits the number of jobs that hold capacity at once.
///
/// Like GitLab Runner, it has two kinds of limits: [`concurrent`](Self::concurrent) counts the jobs of
/// all runners together, [`of_each_runner`](Self::of_each_runner) those of each runner. The count
/// belongs to the layer: around several providers, it limits them together.
///
/// # What it changes
///
/// `acquire` takes a permit before it calls the inner provider. Without a free permit it refuses or
/// waits ([`WhenFull`]; default: it refuses). The [`ExecutorData`] carries the permit until `release`,
/// after the inner provider's, or until the data is dropped. All else is forwarded.
///
/// # Cancellation
///
/// A stop ends the wait with [`AcquireError::Canceled`] and takes no permit.
///
/// # Examples
///
/// Right: around each provider of a [`FallbackLayer`](crate::FallbackLayer), so that a full provider
/// passes the job to the next. Wrong: around all of them, which refuses a job while the next is idle.
///
/// ```
/// use executor_core::prelude::*;
/// use executor_layers::{ConcurrencyLimitLayer, FallbackLayer};
/// use executor_testkit::{ScriptedProvider, runner_config};
///
/// /// Returns whether a second job finds capacity while the first one holds some.
/// async fn takes_two(provider: Arc<dyn ExecutorProvider>) -> Result<bool, AcquireError> {
///     let (config, go_on) = (runner_config("two hosts"), Cancellation::new());
///     let _first = provider.acquire(&config, &go_on).await?;
///     let second = provider.acquire(&config, &go_on).await;
///     Ok(second.is_ok())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), AcquireError> {
/// let host = ScriptedProvider::new;
/// let one = || ConcurrencyLimitLayer::concurrent(1);
///
/// let next = FallbackLayer::to(ProviderStack::new(host()).layer(&one()).build());
/// let right = ProviderStack::new(host()).layer(&one()).layer(&next).build();
/// assert!(takes_two(right).await?);
///
/// let next = FallbackLayer::to(host().shared());
/// let wrong = ProviderStack::new(host()).layer(&next).layer(&one()).build();
/// assert!(!takes_two(wrong).await?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ConcurrencyLimitLayer {
    scope: Scope,
    when_full: WhenFull,
}

#[derive(Debug, Clone)]
enum Scope {
    All {
        limit: u32,
        counter: Arc<PermitCounter>,
    },
    EachRunner(Arc<Mutex<HashMap<RunnerKey, Arc<PermitCounter>>>>),
}

/// Identifies a runner: its name, and the part of its token that is not secret.
type RunnerKey = (String, String);

impl ConcurrencyLimitLayer {
    /// Returns a limit of `limit` jobs for all runners (GitLab's `concurrent`); 0 means no limit.
    pub fn concurrent(limit: u32) -> Self {
        Self::new(Scope::All {
            limit,
            counter: Arc::default(),
        })
    }

    /// Returns a limit of [`RunnerConfig::limit`] jobs for each runner.
    ///
    /// Each `acquire` reads the limit from its settings, so a change applies at once.
    pub fn of_each_runner() -> Self {
        Self::new(Scope::EachRunner(Arc::default()))
    }

    fn new(scope: Scope) -> Self {
        Self {
            scope,
            when_full: WhenFull::default(),
        }
    }

    /// Sets the behaviour at the limit; default [`WhenFull::Refuse`].
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }
}

impl ProviderLayer for ConcurrencyLimitLayer {
    fn layer(&self, inner: Arc<dyn ExecutorProvider>) -> Arc<dyn ExecutorProvider> {
        Arc::new(ConcurrencyLimitProvider {
            inner,
            scope: self.scope.clone(),
            when_full: self.when_full,
            owner: Owner::default(),
        })
    }
}

impl Scope {
    fn counter_and_limit(&self, config: &RunnerConfig) -> (Arc<PermitCounter>, u32) {
        match self {
            Self::All { limit, counter } => (Arc::clone(counter), *limit),
            Self::EachRunner(counters) => {
                let key = (config.name.clone(), config.short_token().to_owned());
                let mut counters = counters.lock();
                (Arc::clone(counters.entry(key).or_default()), config.limit)
            }
        }
    }
}

/// A provider wrapped in a [`ConcurrencyLimitLayer`].
#[derive(Debug)]
pub struct ConcurrencyLimitProvider {
    inner: Arc<dyn ExecutorProvider>,
    scope: Scope,
    when_full: WhenFull,
    owner: Owner,
}

impl ConcurrencyLimitProvider {
    async fn permit(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<Permit, AcquireError> {
        let (counter, limit) = self.scope.counter_and_limit(config);
        match self.when_full {
            WhenFull::Refuse => counter.try_take(limit).ok_or(AcquireError::NoFreeExecutor),
            WhenFull::Wait => Ok(counter.take(limit, cancellation).await?),
        }
    }
}

/// Is emptied by `release`, even while another task holds a clone of the data.
type PermitCell = Mutex<Option<Permit>>;

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ExecutorProvider for ConcurrencyLimitProvider {
    forward_provider!(inner: can_create, create);

    async fn acquire(
        &self,
        config: &RunnerConfig,
        cancellation: &Cancellation,
    ) -> Result<ExecutorData, AcquireError> {
        let permit = self.permit(config, cancellation).await?;
        let data = self.inner.acquire(config, cancellation).await?;
        Ok(self.owner.put(data, PermitCell::new(Some(permit))))
    }

    async fn release(&self, config: &RunnerConfig, data: ExecutorData) {
        let cell = self.owner.find::<PermitCell>(&data);
        // Dropped at the end of this call, even if the inner call panics.
        let _permit = cell.and_then(|cell| cell.lock().take());
        self.inner.release(config, data.clone()).await;
    }

    forward_provider!(inner: features, config_info, default_shell, init);

    async fn shutdown(&self, deadline: Duration) -> Result<(), ProviderError> {
        self.inner.shutdown(deadline).await
    }
}
